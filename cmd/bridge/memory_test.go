// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io/fs"
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

func TestTheContainersLimitIsFound(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"version 2", map[string]string{limitFiles[0]: "134217728\n"}, 128 << 20},
		{"version 2 without a limit", map[string]string{limitFiles[0]: "max\n"}, 0},
		{"version 1", map[string]string{limitFiles[1]: "134217728\n"}, 128 << 20},
		{"version 1 without a limit", map[string]string{limitFiles[1]: "9223372036854771712\n"}, 0},
		{"no control groups", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := memoryLimit(func(file string) ([]byte, error) {
				if content, ok := tt.files[file]; ok {
					return []byte(content), nil
				}
				return nil, fs.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("limit %d, want %d", got, tt.want)
			}
		})
	}
}
