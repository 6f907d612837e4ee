// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"
	"time"
)

var (
	start    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settings = breakerSettings{Failures: 3, Pause: time.Second, MaxPause: 5 * time.Second}
)

// opened returns a breaker that opened at start, with the longest pause.
func opened() breaker {
	var b breaker
	for range settings.Failures {
		b = b.Missed(settings, false, start, 1)
	}
	return b
}

func TestABreakerOpensAfterFailuresInARow(t *testing.T) {
	tests := map[string]struct {
		outcomes string // a dot reached the server, an x did not
		want     BreakerState
	}{
		"nothing happened":                   {"", BreakerClosed},
		"one fewer than it takes":            {"xx", BreakerClosed},
		"as many as it takes":                {"xxx", BreakerOpen},
		"an answer between begins anew":      {"xx.xx", BreakerClosed},
		"an answer of an older call closes":  {"xxx.", BreakerClosed},
		"a failure of an older call is none": {"xxxx", BreakerOpen},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b breaker
			for _, o := range tt.outcomes {
				if o == '.' {
					b = b.Reached()
				} else {
					b = b.Missed(settings, false, start, 1)
				}
			}
			if b.State() != tt.want {
				t.Errorf("state = %v, want %v", b.State(), tt.want)
			}
		})
	}
}

func TestOneTrialDecides(t *testing.T) {
	b, d := opened().Ask(start.Add(999 * time.Millisecond))
	if d.Pass || !d.Until.Equal(start.Add(time.Second)) {
		t.Fatalf("in the pause: %+v, want a refusal until it ends", d)
	}
	b, d = b.Ask(start.Add(time.Second))
	if !d.Pass || !d.Trial || b.State() != BreakerHalfOpen {
		t.Fatalf("after the pause: %+v in state %v, want the trial", d, b.State())
	}
	if _, other := b.Ask(start.Add(1500 * time.Millisecond)); other.Pass {
		t.Error("a second call passed beside the trial")
	}
	if _, other := b.Ask(start.Add(2 * time.Second)); !other.Trial {
		t.Error("no other trial was made when the first did not end")
	}
	if got := b.Reached().State(); got != BreakerClosed {
		t.Errorf("after an answer: %v", got)
	}
	if got := b.Missed(settings, false, start, 1).State(); got != BreakerHalfOpen {
		t.Errorf("after the failure of an older call: %v, want the trial to go on", got)
	}
	again := b.Undecided()
	if _, d := again.Ask(start.Add(1100 * time.Millisecond)); !d.Trial {
		t.Error("a trial that told nothing has no successor")
	}
	if _, d := opened().Hopeful().Ask(start); !d.Trial {
		t.Error("a sign of the server's return does not end the pause")
	}
	if got := (breaker{}).Hopeful(); got != (breaker{}) {
		t.Errorf("a sign of return changed a closed breaker: %+v", got)
	}
}

func TestThePauseDoublesWithJitter(t *testing.T) {
	for _, tt := range []struct {
		spread float64
		want   []time.Duration
	}{
		{1, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}},
		{0, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 2500 * time.Millisecond}},
	} {
		now := start
		b := breaker{failures: settings.Failures - 1}.Missed(settings, false, now, tt.spread)
		for i, want := range tt.want {
			_, d := b.Ask(now)
			if got := d.Until.Sub(now); got != want {
				t.Errorf("spread %v, pause %d = %v, want %v", tt.spread, i, got, want)
			}
			now = d.Until
			b, d = b.Ask(now)
			b = b.Missed(settings, d.Trial, now, tt.spread)
		}
	}
}

func TestTheLongestPauseHoldsForEver(t *testing.T) {
	b, now := opened(), start
	for range 100 {
		_, d := b.Ask(now)
		if d.Until.Sub(now) > settings.MaxPause {
			t.Fatalf("a pause of %v", d.Until.Sub(now))
		}
		now = d.Until
		b, _ = b.Ask(now)
		b = b.Missed(settings, true, now, 1)
	}
}

func TestStatesHaveNames(t *testing.T) {
	for state, want := range map[BreakerState]string{BreakerClosed: "closed", BreakerHalfOpen: "half-open", BreakerOpen: "open"} {
		if got := state.String(); got != want {
			t.Errorf("%d = %s, want %s", state, got, want)
		}
	}
}
