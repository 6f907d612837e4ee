// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"path"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

// Timing holds the intervals of the upstreams; tests shorten them.
type Timing struct {
	// Interval and timeout are those of the health probe.
	Interval, Timeout time.Duration
	// Connect limits one attempt to connect.
	Connect time.Duration
	// Silence is how long a program may leave the first request of the modern protocol without an
	// answer, at most. It may not know the request.
	Silence time.Duration
	// Wait is how long a request waits for a server that is not connected.
	Wait time.Duration
	// Start is how long a call waits for a server that starts, and a list if there is nothing to
	// list yet. List is how long a list waits if there is something to list.
	Start, List time.Duration
	// Login limits how long a call waits for its user to log in.
	Login time.Duration
	// Grace limits how long a call may continue with previous secrets.
	Grace time.Duration
	// BackoffMin and BackoffMax limit the pause between attempts.
	BackoffMin, BackoffMax time.Duration
	// Keep is how long clients may keep a list of which its server says nothing, and at most a list of
	// the bridge.
	Keep time.Duration
	// Pace is the minimum time between two list changes of one kind that the bridge reacts to.
	Pace time.Duration
}

// DefaultTiming are the intervals of a bridge.
var DefaultTiming = Timing{
	Interval: health.Interval,
	Timeout:  health.Timeout,
	// A server that starts on its first request may need some time.
	Connect: 15 * time.Second,
	// A third of the time to connect, without the time to install the program.
	Silence: 5 * time.Second,
	// Less than the 30 s after which common clients give up.
	Wait: 10 * time.Second,
	// Programs that are installed first take 12 s and more. It is less than the 30 s for which the
	// ingress holds a call for its pod, and than the 60 s after which many clients give up.
	Start: 25 * time.Second,
	// Most servers connect sooner, and nobody should wait long for one of many. It is also less than
	// Connect, so that two bridges that list each other do not fail each other's attempts.
	List: 5 * time.Second,
	// A browser with an existing login needs a few seconds; the total must stay below those 30 s.
	Login: 15 * time.Second,
	// Some tools work for minutes, and some ask a person, who needs one or two; but a leaked
	// secret must not stay in use for much longer.
	Grace:      5 * time.Minute,
	BackoffMin: time.Second,
	// At most the probe interval, so that the bridge notices a recovered server about as fast as
	// the failure of a connected one.
	BackoffMax: 30 * time.Second,
	// The bridge reads each list again at each probe, so it learns of a change within this time.
	Keep: health.Interval,
	// Nobody can follow a list that changes more often, and a server that reports a change on
	// every read would be read without end.
	Pace: time.Second,
}

// installTimeout limits an attempt to connect to a program that is fetched or installed first. A small one
// takes 5 seconds, and a minute on a busy node. An attempt that ends earlier has to install it again.
const installTimeout = 2 * time.Minute

// installers are the programs that install what they run.
var installers = []string{"npx", "uvx"}

// connectTimeout returns the limit of one attempt to connect to s, whose default is usual.
func connectTimeout(s bridgeconfig.Server, usual time.Duration) time.Duration {
	switch {
	case s.Timeouts.Connect > 0:
		return time.Duration(s.Timeouts.Connect)
	case s.Program != nil && (s.Program.Bundle != nil || len(s.Program.Command) > 0 && slices.Contains(installers, path.Base(s.Program.Command[0]))):
		return max(usual, installTimeout)
	}
	return usual
}

// silence returns how long a program may leave the first request of the modern protocol without an
// answer, if it has the time connect to connect.
func (t Timing) silence(connect time.Duration) time.Duration { return min(connect/3, t.Silence) }
