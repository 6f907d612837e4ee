// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"time"
)

// Limit is one of the limits that a call can meet.
type Limit int

// The limits: those of windows in the order of State.Windows, the burst, and those
// of slots in the order of Slots.
const (
	None Limit = iota
	Minute
	Hour
	Day
	Burst
	Calls
	Streams
	// Batch refuses more requests at once than a window ever allows.
	Batch
)

// windows is how many limits are windows.
const windows = int(Burst - Minute)

// String returns the limit's name, as clients see it.
func (l Limit) String() string {
	return [...]string{"none", "minute", "hour", "day", "burst", "calls", "streams", "batch"}[l]
}

// Spans are how long the windows are: minute, hour and day.
var Spans = [windows]time.Duration{time.Minute, time.Hour, 24 * time.Hour}

// Window counts the requests of one span of time. It begins with the first
// request after the last window has ended, and not by the clock, so that not
// all users come back in the same moment.
type Window struct {
	// Start is in microseconds of Unix time, since stores other than Go's
	// memory keep it too.
	Start int64
	Used  int64
}

// State is what is stored of a user between two requests. The zero value is
// that of a user without requests.
type State struct {
	Windows [windows]Window
	// Next is when, in microseconds of Unix time, the burst will be whole again.
	// It is the theoretical arrival time of the generic cell rate algorithm:
	// each request moves it on by the time in which the minute allows one.
	Next int64
}

// Want is what a call takes from its user's quota.
type Want struct {
	// Requests are the JSON-RPC requests in it.
	Requests int
	// Slot is what it takes as long as it runs: None, Calls or Streams.
	Slot Limit
}

// Verdict is whether requests may go on.
type Verdict struct {
	// Refused is the limit that they would exceed, None if they may go on.
	Refused Limit
	// RetryAfter is when the same number of requests would pass, if no other
	// comes meanwhile.
	RetryAfter time.Duration
	// Left is what remains, after those that may go on.
	Left Left
	// Replicas is how many replicas the tier was divided among, since they did not
	// count together. 0 and 1 mean the whole tier.
	Replicas int
}

// Held returns what of the tier the verdict was given by, and Left is of.
func (v Verdict) Held(t Tier) Tier { return t.Share(v.Replicas) }

// Allowed reports whether the requests may go on.
func (v Verdict) Allowed() bool { return v.Refused == None }

// Interval returns the time in microseconds in which the minute's limit allows
// one request.
func (t Tier) Interval() int64 {
	return max(1, time.Minute.Microseconds()/int64(t.PerMinute))
}

// windows returns the limits of the windows.
func (t Tier) windows() (of [windows]int64) {
	for i := range of {
		of[i] = t.Most(Minute + Limit(i))
	}
	return of
}

// Fits reports whether n requests at once can ever pass.
func (t Tier) Fits(n int) bool {
	w := t.windows()
	return int64(n) <= slices.Min(w[:])
}

// Take counts n requests of a user of tier t at now, all or none of them.
// Refused requests cost nothing. If several limits are reached, the verdict
// names the one that lasts longest.
//
// More requests at once than the burst pass when the burst is whole, and those
// beyond it are owed: otherwise a batch of that size could never be sent.
func Take(s State, t Tier, now time.Time, n int) (State, Verdict) {
	at := now.UnixMicro()
	s = s.at(t, at)
	refused, wait := None, int64(0)
	for i, limit := range t.windows() {
		w := s.Windows[i]
		if left := w.Start + Spans[i].Microseconds() - at; n > 0 && w.Used+int64(n) > limit && left > wait {
			refused, wait = Minute+Limit(i), left
		}
	}
	interval := t.Interval()
	if over := s.Next + (min(int64(n), int64(t.Burst))-int64(t.Burst))*interval - at; n > 0 && over > wait {
		refused, wait = Burst, over
	}
	if refused == None && n > 0 {
		for i := range s.Windows {
			s.Windows[i].Used += int64(n)
		}
		s.Next += int64(n) * interval
	}
	return s, Verdict{Refused: refused, RetryAfter: time.Duration(wait) * time.Microsecond, Left: s.left(t, at)}
}

// at returns the state at that time: windows that have ended start again, and
// so does the burst. If the clock went back, no limit lasts longer than its
// maximum.
func (s State) at(t Tier, at int64) State {
	for i := range s.Windows {
		w := &s.Windows[i]
		if at >= w.Start+Spans[i].Microseconds() {
			*w = Window{Start: at}
		}
		w.Start = min(w.Start, at)
	}
	s.Next = min(max(s.Next, at), at+(int64(t.Burst)+int64(t.PerMinute))*t.Interval())
	return s
}
