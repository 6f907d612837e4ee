// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"math/rand/v2"
	"time"
)

const (
	// Pauses after failures double from the first to the last. They are longer if a retry is
	// useless until somebody fixes the cause.
	firstPause, lastPause               = time.Second, time.Minute
	firstLastingPause, lastLastingPause = time.Minute, 10 * time.Minute
)

// backoff says when a token may be requested again after failures.
type backoff struct {
	// fault is the last failure, nil after a success. failures counts failures in a row. No
	// request is sent until retry.
	fault    *Error
	failures int
	retry    time.Time
}

// fail records a failure.
func (b *backoff) fail(err *Error, now time.Time) {
	first, last := firstPause, lastPause
	if err.lasting {
		first, last = firstLastingPause, lastLastingPause
	}
	pause := min(first<<min(b.failures, 16), last)
	b.failures++
	b.fault, b.retry = err, now.Add(pause/2+jitter(pause/2))
}

// blocks reports whether the last failure is too recent for another request.
func (b *backoff) blocks(now time.Time) bool { return b.fault != nil && now.Before(b.retry) }

// reset forgets the failures.
func (b *backoff) reset() { *b = backoff{} }

// jitter returns a random duration of at most d.
func jitter(d time.Duration) time.Duration {
	return rand.N(d + 1) //nolint:gosec // Spreading load needs no secret randomness.
}
