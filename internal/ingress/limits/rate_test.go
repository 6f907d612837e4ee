// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"
	"testing"
	"time"
)

func TestManyAtOnceGetNoMoreThanTheBurst(t *testing.T) {
	l := &Rate{Burst: 50, Every: time.Second}
	now := time.Unix(1000, 0)
	var passed sync.Map
	var all sync.WaitGroup
	for n := range 400 {
		all.Go(func() {
			if l.Take(7, now) == 0 {
				passed.Store(n, true)
			}
		})
	}
	all.Wait()
	count := 0
	passed.Range(func(any, any) bool { count++; return true })
	if count != 50 {
		t.Errorf("%d passed, want 50", count)
	}
}
