// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestShare(t *testing.T) {
	tier := Tier{PerMinute: 31, PerHour: 300, PerDay: 2, Burst: 10, ConcurrentCalls: 4, Streams: 2, AuditDays: 7}
	for replicas, want := range map[int]Tier{
		-1: tier,
		1:  tier,
		3:  {PerMinute: 10, PerHour: 100, PerDay: 1, Burst: 10, ConcurrentCalls: 2, Streams: 1, AuditDays: 7},
	} {
		if diff := cmp.Diff(want, tier.Share(replicas)); diff != "" {
			t.Errorf("share of %d (-want +got):\n%s", replicas, diff)
		}
	}
}

// use has a state take n requests, which must pass.
func use(t *testing.T, s State, tier Tier, at time.Duration, n int) State {
	t.Helper()
	s, v := Take(s, tier, noon.Add(at), n)
	if !v.Allowed() {
		t.Fatalf("%d at %v: refused by %v", n, at, v.Refused)
	}
	return s
}

func passing(s State, tier Tier, at time.Duration) (n int) {
	for {
		var v Verdict
		if s, v = Take(s, tier, noon.Add(at), 1); !v.Allowed() {
			return n
		}
		n++
	}
}

func TestAReplicaGoesOnByItsShareOfWhatWasLeft(t *testing.T) {
	tier := loose(func(t *Tier) { t.PerMinute, t.Burst = 90, 1000 })
	share := tier.Share(3)
	for used, want := range map[int]int{0: 30, 1: 29, 30: 20, 60: 10, 88: 0, 90: 0} {
		s := State{}
		if used > 0 {
			s = use(t, s, tier, 0, used)
		}
		if got := passing(s.Shared(tier, 3), share, time.Second); got != want {
			t.Errorf("after %d of 90: %d pass at one of three, want %d", used, got, want)
		}
		if got := passing(s.Shared(tier, 3), share, time.Minute); got != 30 {
			t.Errorf("after %d, a minute later: %d pass, want 30", used, got)
		}
	}
}

func TestSettle(t *testing.T) {
	tier := loose(func(t *Tier) { t.PerMinute, t.Burst = 90, 1000 })
	seen := use(t, State{}, tier, 0, 30)
	alone := use(t, seen.Shared(tier, 3), tier.Share(3), 10*time.Second, 7)
	debt := Debt{}.Add(alone, 7)
	later := use(t, State{}, tier, 20*time.Second, 5)
	for _, test := range []struct {
		name  string
		store State
		at    time.Duration
		start time.Duration
		want  int64
	}{
		{"the store knows what was seen", seen, 30 * time.Second, 0, 37},
		{"others have used it further", use(t, seen, tier, time.Second, 10), 30 * time.Second, 0, 47},
		{"the store has lost its memory", State{}, 30 * time.Second, 0, 37},
		{"it lost its memory, and others have gone on", later, 30 * time.Second, 0, 42},
		{"the minute has ended", seen, time.Minute, 0, 30},
	} {
		got := test.store.Settle(seen, debt, noon.Add(test.at))
		if w := got.Windows[0]; w.Used != test.want || w.Start != noon.Add(test.start).UnixMicro() {
			t.Errorf("%s: %d since %v, want %d since %v", test.name, w.Used, time.UnixMicro(w.Start).UTC(), test.want, test.start)
		}
	}
}

func TestADebtIsOfTheWindowThatRuns(t *testing.T) {
	tier := loose(func(t *Tier) { t.PerMinute = 90 })
	first := use(t, State{}, tier, 0, 3)
	second := use(t, first, tier, time.Minute, 4)
	d := Debt{}.Add(first, 3).Add(second, 4)
	if d.Windows[0].Used != 4 || d.Windows[1].Used != 7 {
		t.Errorf("debt %+v", d)
	}
	old, both := Debt{}.Add(first, 3), Debt{}.Add(second, 1).Add(second, 2)
	for _, joined := range []Debt{old.Join(both), both.Join(old)} {
		if joined.Windows[0] != both.Windows[0] || joined.Windows[1].Used != 6 {
			t.Errorf("joined %+v", joined)
		}
	}
}
