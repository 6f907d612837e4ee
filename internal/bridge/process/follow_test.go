// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAFollowerSeesEachChangeAndEachFailureOnce(t *testing.T) {
	contents := make(chan any)
	seen := make(chan string, 16)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Follower{
			Interval: time.Millisecond,
			Read: func() ([]byte, error) {
				select {
				case c := <-contents:
					if err, ok := c.(error); ok {
						return nil, err
					}
					return []byte(c.(string)), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
			Changed: func(b []byte) { seen <- "changed " + string(b) },
			Failed: func(err error) {
				if ctx.Err() == nil {
					seen <- "failed " + err.Error()
				}
			},
		}.Run(ctx, []byte("a"))
	}()
	for _, c := range []any{"a", "b", "b", errors.New("x"), errors.New("x"), "b", errors.New("y"), "a"} {
		contents <- c
	}
	want := []string{"changed b", "failed x", "failed y", "changed a"}
	for _, w := range want {
		if got := <-seen; got != w {
			t.Errorf("%s, want %s", got, w)
		}
	}
	cancel()
	<-ended
	if len(seen) > 0 {
		t.Errorf("and %s", <-seen)
	}
}
