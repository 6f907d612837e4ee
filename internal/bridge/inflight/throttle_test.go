// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"slices"
	"testing"
	"time"
)

func TestWhatComesTooSoonIsDoneLater(t *testing.T) {
	p, over := &Throttle{}, make(chan struct{})
	done := make(chan int, 8)
	for i := range 4 {
		p.Do("a", time.Hour, over, func() { done <- i })
	}
	p.Do("b", time.Hour, over, func() { done <- 10 })
	p.catchUp(p.kinds["a"], over)
	if got := []int{<-done, <-done, <-done}; !slices.Equal(got, []int{0, 10, 3}) {
		t.Errorf("done: %v", got)
	}
	for i := range 4 {
		p.Do("c", time.Millisecond, over, func() { done <- i })
	}
	for <-done != 3 {
		continue
	}
	close(over)
	p.catchUp(&throttled{next: func() { t.Error("done after the end") }}, over)
}
