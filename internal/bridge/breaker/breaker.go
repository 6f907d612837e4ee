// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package breaker decides whether a server that could not be reached is called
// again yet. What the server answers, an error included, is none of its
// business: a server that answers is there.
//
// The package is pure: times and randomness are arguments.
package breaker

import "time"

// State is what a breaker does with a call.
type State int

// The states. Their numbers are those of the metric.
const (
	// Closed lets every call through.
	Closed State = iota
	// HalfOpen lets one call through, which decides.
	HalfOpen
	// Open lets none through.
	Open
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case HalfOpen:
		return "half-open"
	case Open:
		return "open"
	}
	return "closed"
}

// Settings are when a breaker opens, and for how long.
type Settings struct {
	// Failures is how many calls in a row must fail to reach the server.
	Failures int
	// Pause is the first pause. It doubles each time the trial fails, up to
	// MaxPause.
	Pause, MaxPause time.Duration
}

// Breaker is one server's breaker. The zero Breaker is closed. It is a value:
// who shares one guards it.
type Breaker struct {
	state    State
	failures int       // in a row, while closed
	pauses   int       // in a row, so far
	until    time.Time // the end of the pause, or of the trial's time
	pause    time.Duration
}

// Decision is what becomes of a call.
type Decision struct {
	// Pass says that the call is made.
	Pass bool
	// Trial says that it is the one that decides.
	Trial bool
	// Until is when the next call is tried, where this one is not made.
	Until time.Time
}

// State returns the breaker's state.
func (b Breaker) State() State { return b.state }

// Ask decides on a call at now and returns the breaker thereafter.
func (b Breaker) Ask(now time.Time) (Breaker, Decision) {
	if b.state == Closed {
		return b, Decision{Pass: true}
	}
	if now.Before(b.until) {
		return b, Decision{Until: b.until}
	}
	// A trial may be a call that takes hours. Its time is the pause that
	// preceded it; after that the next call is one too.
	b.state, b.until = HalfOpen, now.Add(b.pause)
	return b, Decision{Pass: true, Trial: true}
}

// Reached notes that the server answered, whichever call it was.
func (b Breaker) Reached() Breaker { return Breaker{} }

// Missed notes that a call did not reach the server. spread, from 0 to 1, is
// where in its second half the pause ends, so that not all bridges meet a
// returning server at once.
func (b Breaker) Missed(s Settings, trial bool, now time.Time, spread float64) Breaker {
	switch {
	case b.state == Closed:
		b.failures++
		if b.failures < s.Failures {
			return b
		}
	case !trial:
		return b // It began before the pause and says nothing new.
	}
	return b.open(s, now, spread)
}

func (b Breaker) open(s Settings, now time.Time, spread float64) Breaker {
	// Beyond 16 doublings the longest pause has long been reached.
	pause := s.Pause << min(b.pauses, 16)
	if pause <= 0 || pause > s.MaxPause {
		pause = s.MaxPause
	}
	half := pause / 2
	pause = half + time.Duration(spread*float64(pause-half))
	return Breaker{state: Open, pauses: b.pauses + 1, until: now.Add(pause), pause: pause}
}

// Undecided notes that a trial ended without telling, as when its client went
// away. The next call is one.
func (b Breaker) Undecided() Breaker {
	if b.state == HalfOpen {
		b.state, b.until = Open, time.Time{}
	}
	return b
}

// Hopeful notes a sign that the server is back, such as a new connection: the
// pause is over.
func (b Breaker) Hopeful() Breaker {
	if b.state == Open {
		b.until = time.Time{}
	}
	return b
}
