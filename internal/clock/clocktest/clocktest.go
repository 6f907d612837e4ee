// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clocktest is a clock for tests.
package clocktest

import (
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// Start is when a Clock begins.
var Start = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// Wait is one call of After: the test looks at it and ends it.
type Wait struct {
	D    time.Duration
	Fire chan time.Time
}

// Clock stands still until the test moves it. After blocks while Waits is full,
// so that without a buffer the code and the test run in step.
type Clock struct {
	Waits chan Wait

	mu  sync.Mutex
	now time.Time
}

var _ clock.Clock = (*Clock)(nil)

// New returns a clock that keeps so many waits that the test has not received
// yet.
func New(waits int) *Clock { return &Clock{now: Start, Waits: make(chan Wait, waits)} }

// Now implements clock.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	w := Wait{d, make(chan time.Time, 1)}
	c.Waits <- w
	return w.Fire
}

// Advance moves the time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// End lets the time of w pass.
func (c *Clock) End(w Wait) {
	c.Advance(w.D)
	w.Fire <- c.Now()
}
