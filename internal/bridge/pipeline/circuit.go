// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "time"

// BreakerState is what a breaker does with a call.
type BreakerState int

// The states. Their numbers are those of the metric.
const (
	// BreakerClosed lets every call through.
	BreakerClosed BreakerState = iota
	// BreakerHalfOpen lets one call through, which decides.
	BreakerHalfOpen
	// BreakerOpen lets none through.
	BreakerOpen
)

// String returns the state's name.
func (s BreakerState) String() string {
	switch s {
	case BreakerHalfOpen:
		return "half-open"
	case BreakerOpen:
		return "open"
	}
	return "closed"
}

// breakerSettings are when a breaker opens, and for how long.
type breakerSettings struct {
	// Failures is how many calls in a row must fail to reach the server.
	Failures int
	// Pause is the first pause. It doubles each time the trial fails, up to
	// MaxPause.
	Pause, MaxPause time.Duration
}

// breaker decides whether the bridge may call a server again that it could not reach. Only failures to
// reach the server count: one that answers, even with an error, was reached. The zero breaker is
// closed. It is a value: its owner guards it against concurrent use.
type breaker struct {
	state    BreakerState
	failures int       // in a row, while closed
	pauses   int       // in a row, so far
	until    time.Time // the end of the pause, or of the trial's time
	pause    time.Duration
}

// decision says how to proceed with a call.
type decision struct {
	// Pass says that the call may be made.
	Pass bool
	// Trial says that the outcome of this call opens or closes the breaker.
	Trial bool
	// Until is the time of the next trial, set only when Pass is false.
	Until time.Time
}

// State returns the breaker's state.
func (b breaker) State() BreakerState { return b.state }

// Ask decides on a call at the time now, and returns the breaker after this decision.
func (b breaker) Ask(now time.Time) (breaker, decision) {
	if b.state == BreakerClosed {
		return b, decision{Pass: true}
	}
	if now.Before(b.until) {
		return b, decision{Until: b.until}
	}
	// A trial call may take hours. The breaker waits for it only as long as the pause before it;
	// after that, the next call is a trial too.
	b.state, b.until = BreakerHalfOpen, now.Add(b.pause)
	return b, decision{Pass: true, Trial: true}
}

// Reached records that the server answered any call.
func (b breaker) Reached() breaker { return breaker{} }

// Missed records that a call did not reach the server. spread, from 0 to 1, places the end of the
// pause within its second half, so that not all bridges call a recovered server at the same
// moment.
func (b breaker) Missed(s breakerSettings, trial bool, now time.Time, spread float64) breaker {
	switch {
	case b.state == BreakerClosed:
		b.failures++
		if b.failures < s.Failures {
			return b
		}
	case !trial:
		return b // The call began before the pause, so its failure is no news.
	}
	return b.open(s, now, spread)
}

func (b breaker) open(s breakerSettings, now time.Time, spread float64) breaker {
	// After 16 doublings the pause has long reached its maximum.
	pause := s.Pause << min(b.pauses, 16)
	if pause <= 0 || pause > s.MaxPause {
		pause = s.MaxPause
	}
	half := pause / 2
	pause = half + time.Duration(spread*float64(pause-half))
	return breaker{state: BreakerOpen, pauses: b.pauses + 1, until: now.Add(pause), pause: pause}
}

// Undecided records that a trial ended without a result, for example because its client
// disconnected. The next call becomes the trial.
func (b breaker) Undecided() breaker {
	if b.state == BreakerHalfOpen {
		b.state, b.until = BreakerOpen, time.Time{}
	}
	return b
}

// Hopeful records a sign that the server is back, such as a new connection: it ends the pause.
func (b breaker) Hopeful() breaker {
	if b.state == BreakerOpen {
		b.until = time.Time{}
	}
	return b
}
