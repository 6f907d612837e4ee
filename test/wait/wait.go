// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait lets tests wait for a state instead of a time.
package wait

import (
	"context"
	"errors"
	"testing"
	"time"
)

const (
	// Limit is how long tests wait for what must come. It is far longer than anything
	// takes, also where the end-to-end tests have the processors: a wait of 7 s has taken
	// more than two minutes then.
	Limit = 5 * time.Minute
	// longestPause is between two checks of a state that takes long.
	longestPause = 50 * time.Millisecond
)

var errFalse = errors.New("the condition is false")

// Until waits until ok returns true, and fails the test after Limit.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	UntilWithin(t, Limit, what, ok)
}

// UntilWithin is Until with another limit.
func UntilWithin(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	NoError(t, limit, what, func(context.Context) error {
		if ok() {
			return nil
		}
		return errFalse
	})
}

// NoError calls check until it returns nil, and returns how long that took. After the
// limit it fails the test with the last error.
func NoError(t testing.TB, limit time.Duration, what string, check func(context.Context) error) time.Duration {
	t.Helper()
	// A cleanup waits too, and the test's context has ended then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	var last error
	start := time.Now()
	// The pauses grow with the time that has passed: a short wait ends soon, and a long
	// one leaves the machine to what it waits for.
	for pause := time.Millisecond; ; pause = min(pause*5/4, longestPause) {
		err := check(ctx)
		if err == nil {
			return time.Since(start)
		}
		// An error of the limit itself says less than the one before it.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, limit, last)
		}
	}
}
