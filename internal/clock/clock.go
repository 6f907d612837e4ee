// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clock abstracts time for code that waits, so that a test can control
// it.
package clock

import "time"

// Clock is the time.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once, after d.
	After(d time.Duration) <-chan time.Time
}

// System is the system's clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// After implements Clock.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }
