// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package breaker decides whether the bridge may call a server again that it could not reach.
//
// Only failures to reach a server count. A server that answers, even with an error, was reached.
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

// Breaker is one server's breaker. The zero Breaker is closed. It is a value: its owner guards it
// against concurrent use.
type Breaker struct {
	state    State
	failures int       // in a row, while closed
	pauses   int       // in a row, so far
	until    time.Time // the end of the pause, or of the trial's time
	pause    time.Duration
}

// Decision says how to proceed with a call.
type Decision struct {
	// Pass says that the call may be made.
	Pass bool
	// Trial says that the outcome of this call opens or closes the breaker.
	Trial bool
	// Until is the time of the next trial, set only when Pass is false.
	Until time.Time
}

// State returns the breaker's state.
func (b Breaker) State() State { return b.state }

// Ask decides on a call at the time now, and returns the breaker after this decision.
func (b Breaker) Ask(now time.Time) (Breaker, Decision) {
	if b.state == Closed {
		return b, Decision{Pass: true}
	}
	if now.Before(b.until) {
		return b, Decision{Until: b.until}
	}
	// A trial call may take hours. The breaker waits for it only as long as the pause before it;
	// after that, the next call is a trial too.
	b.state, b.until = HalfOpen, now.Add(b.pause)
	return b, Decision{Pass: true, Trial: true}
}

// Reached records that the server answered any call.
func (b Breaker) Reached() Breaker { return Breaker{} }

// Missed records that a call did not reach the server. spread, from 0 to 1, places the end of the
// pause within its second half, so that not all bridges call a recovered server at the same
// moment.
func (b Breaker) Missed(s Settings, trial bool, now time.Time, spread float64) Breaker {
	switch {
	case b.state == Closed:
		b.failures++
		if b.failures < s.Failures {
			return b
		}
	case !trial:
		return b // The call began before the pause, so its failure is no news.
	}
	return b.open(s, now, spread)
}

func (b Breaker) open(s Settings, now time.Time, spread float64) Breaker {
	// After 16 doublings the pause has long reached its maximum.
	pause := s.Pause << min(b.pauses, 16)
	if pause <= 0 || pause > s.MaxPause {
		pause = s.MaxPause
	}
	half := pause / 2
	pause = half + time.Duration(spread*float64(pause-half))
	return Breaker{state: Open, pauses: b.pauses + 1, until: now.Add(pause), pause: pause}
}

// Undecided records that a trial ended without a result, for example because its client
// disconnected. The next call becomes the trial.
func (b Breaker) Undecided() Breaker {
	if b.state == HalfOpen {
		b.state, b.until = Open, time.Time{}
	}
	return b
}

// Hopeful records a sign that the server is back, such as a new connection: it ends the pause.
func (b Breaker) Hopeful() Breaker {
	if b.state == Open {
		b.until = time.Time{}
	}
	return b
}
