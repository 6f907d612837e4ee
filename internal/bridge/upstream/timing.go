// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver/health"
)

// Timing holds the intervals of the upstreams; tests shorten them.
type Timing struct {
	// Interval and timeout are those of the health probe.
	Interval, Timeout time.Duration
	// Connect limits one attempt to connect.
	Connect time.Duration
	// Wait is how long a request waits for a server that is not connected.
	Wait time.Duration
	// Login limits how long a call waits for its user to log in.
	Login time.Duration
	// Grace limits how long a call may continue with previous secrets.
	Grace time.Duration
	// BackoffMin and BackoffMax limit the pause between attempts.
	BackoffMin, BackoffMax time.Duration
	// Pace is the minimum time between two list changes of one kind that the bridge reacts to.
	Pace time.Duration
}

// DefaultTiming are the intervals of a bridge.
var DefaultTiming = Timing{
	Interval: health.Interval,
	Timeout:  health.Timeout,
	// A server that starts on its first request may need some time.
	Connect: 15 * time.Second,
	// Less than the 30 s after which common clients give up.
	Wait: 10 * time.Second,
	// A browser with an existing login needs a few seconds; the total must stay below those 30 s.
	Login: 15 * time.Second,
	// Some tools work for minutes, and some ask a person, who needs one or two; but a leaked
	// secret must not stay in use for much longer.
	Grace:      5 * time.Minute,
	BackoffMin: time.Second,
	// At most the probe interval, so that the bridge notices a recovered server about as fast as
	// the failure of a connected one.
	BackoffMax: 30 * time.Second,
	// Nobody can follow a list that changes more often, and a server that reports a change on
	// every read would be read without end.
	Pace: time.Second,
}
