// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMemoryIsGivenBackOnceAfterEachTimeOfCalls(t *testing.T) {
	// What was served in all at each tick.
	served := []uint64{0, 0, 0, 5, 9, 9, 9, 9, 10, 10}
	want := []int{1, 5, 9} // The ticks after which memory was given back.
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	done := make(chan struct{})
	// Both belong to the goroutine that runs.
	at, got := -1, []int(nil)
	r := rest{
		served: func() uint64 {
			at++
			return served[at]
		},
		free: func() { got = append(got, at) },
	}
	go func() {
		defer close(done)
		r.run(ctx, tick)
	}()
	for range served[1:] {
		tick <- time.Time{}
	}
	cancel()
	<-done
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("given back at (-want +got):\n%s", diff)
	}
}
