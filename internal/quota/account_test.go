// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnAccountIsWrittenWhenItChanges has one replica ask about an account of which
// another one holds a call.
func TestAnAccountIsWrittenWhenItChanges(t *testing.T) {
	tier := loose(func(t *Tier) { t.PerMinute, t.ConcurrentCalls, t.Streams = 2, 2, 1 })
	one, call := Want{Requests: 1}, Want{Requests: 1, Slot: Calls}
	for _, test := range []struct {
		name     string
		used     int
		holds    Slots
		q        Inquiry
		refused  Limit
		changed  bool
		wantUsed int64
		want     Slots
	}{
		{"what is left", 1, Slots{}, Inquiry{}, None, false, 1, Slots{}},
		{"what is left, with a call in flight", 1, Slots{1}, Inquiry{InFlight: Slots{1}}, None, true, 1, Slots{1}},
		{"what is left, after the call", 1, Slots{1}, Inquiry{}, None, true, 1, Slots{}},
		{"a request", 1, Slots{}, Inquiry{Want: one}, None, true, 2, Slots{}},
		{"a request too many", 2, Slots{}, Inquiry{Want: one}, Minute, false, 2, Slots{}},
		{"a request too many, with a slot", 2, Slots{}, Inquiry{Want: call, InFlight: Slots{1}}, Minute, false, 2, Slots{}},
		{"a call", 1, Slots{}, Inquiry{Want: call, InFlight: Slots{1}}, None, true, 2, Slots{1}},
		{"a call too many", 1, Slots{1}, Inquiry{Want: call, InFlight: Slots{2}}, Calls, true, 1, Slots{1}},
		{"a stream", 1, Slots{}, Inquiry{Want: Want{Slot: Streams}, InFlight: Slots{0, 1}}, None, true, 1, Slots{0, 1}},
		{"a stream too many", 1, Slots{}, Inquiry{Want: Want{Slot: Streams}, InFlight: Slots{0, 2}}, Streams, true, 1, Slots{0, 1}},
		{"what a replica has allowed alone", 0, Slots{}, Inquiry{Alone: true, Debt: Debt{}.Add(use(t, State{}, tier, 0, 1), 1)}, None, true, 1, Slots{}},
	} {
		a := Account{}
		if test.used > 0 {
			a.State = use(t, a.State, tier, 0, test.used)
		}
		a.Hold("other", Slots{1}, noon)
		a.Hold("this", test.holds, noon)
		test.q.Replica, test.q.Tier = "this", tier
		r, changed := a.Take(test.q, noon.Add(time.Second))
		if r.Refused != test.refused || changed != test.changed || a.State.Windows[0].Used != test.wantUsed || a.Held["this"].Slots != test.want {
			t.Errorf("%s: refused by %v, changed: %v, %d used, in flight: %v", test.name, r.Refused, changed, a.State.Windows[0].Used, a.Held["this"].Slots)
		}
		if diff := cmp.Diff(a.State, r.State); diff != "" {
			t.Errorf("%s: what is told of the account (-kept +told):\n%s", test.name, diff)
		}
	}
}

func TestWhatAReplicaHoldsThatIsGoneDoesNotCount(t *testing.T) {
	tier := loose(func(t *Tier) { t.ConcurrentCalls = 1 })
	a := Account{}
	a.Hold("gone", Slots{1}, noon)
	for after, want := range map[time.Duration]Limit{LeaseFor - time.Second: Calls, LeaseFor: None} {
		copied := Account{Held: map[string]Lease{"gone": a.Held["gone"]}}
		r, _ := copied.Take(Inquiry{Replica: "this", Tier: tier, Want: Want{Slot: Calls}, InFlight: Slots{1}}, noon.Add(after))
		if _, kept := copied.Held["gone"]; r.Refused != want || kept != (want == Calls) {
			t.Errorf("after %v: refused by %v, kept: %v", after, r.Refused, kept)
		}
	}
}
