// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import "time"

const (
	// LeaseFor is how long a replica's calls in flight count after its last
	// report.
	LeaseFor = 30 * time.Second
	// KeepFor is how long an unused account is kept: a day and an hour, longer
	// than any window.
	KeepFor = 25 * time.Hour
)

// Slots are numbers of calls and streams.
type Slots [Batch - Calls]int

// Add adds n to those of a kind, and nothing for None.
func (s *Slots) Add(slot Limit, n int) {
	if slot != None {
		s[slot-Calls] += n
	}
}

// Account is what all replicas together have counted for the user of one bridge.
// It is what a store keeps.
type Account struct {
	State State
	// Held is what each replica has in flight.
	Held map[string]Lease `json:",omitempty"`
}

// Lease is what one replica has in flight, and until when that holds, in
// microseconds of Unix time.
type Lease struct {
	Slots  Slots
	Expiry int64
}

// Inquiry is what a replica asks for.
type Inquiry struct {
	Replica string
	// Tier is the user's. Only the limits of calls matter.
	Tier Tier
	Want Want
	// InFlight is what the replica has in flight, with what it asks for.
	InFlight Slots
	// Alone means that the replica counted by itself since it last asked, and
	// Seen and Debt then are what it knows.
	Alone bool
	Seen  State
	Debt  Debt
}

// Reply is the answer to an Inquiry.
type Reply struct {
	Refused Limit
	Wait    time.Duration
	// Now is the time by which the store counts, and State what it has counted.
	Now   time.Time
	State State
}

// Verdict returns the reply as a verdict on a user of that tier.
func (r Reply) Verdict(t Tier) Verdict {
	_, v := Take(r.State, t, r.Now, 0)
	v.Refused, v.RetryAfter = r.Refused, r.Wait
	return v
}

// Take takes what is wanted, all of it or nothing, and reports whether that has
// changed the account.
func (a *Account) Take(q Inquiry, now time.Time) (r Reply, changed bool) {
	if q.Alone {
		a.State = a.State.Settle(q.Seen, q.Debt, now)
	}
	slot, held, requests := q.Want.Slot, q.InFlight, q.Want.Requests
	full := slot != None && a.heldByOthers(q.Replica, slot, now)+held[slot-Calls] > int(q.Tier.Most(slot))
	if full {
		requests = 0
	}
	state, v := Take(a.State, q.Tier, now, requests)
	if full {
		v.Refused = slot
	}
	counted := v.Allowed() && requests > 0
	if counted {
		a.State = state
	}
	if !v.Allowed() {
		held.Add(slot, -1)
	}
	changed = a.Hold(q.Replica, held, now) || counted || q.Alone
	return Reply{Refused: v.Refused, Wait: v.RetryAfter, Now: now, State: a.State}, changed
}

// heldByOthers returns how many slots of a kind other replicas hold, and forgets
// the replicas that have not reported for long.
func (a *Account) heldByOthers(replica string, slot Limit, now time.Time) (sum int) {
	for name, l := range a.Held {
		switch {
		case name == replica:
		case l.Expiry <= now.UnixMicro():
			delete(a.Held, name)
		default:
			sum += l.Slots[slot-Calls]
		}
	}
	return sum
}

// Hold notes what a replica has in flight, and reports whether that has changed
// the account.
func (a *Account) Hold(replica string, held Slots, now time.Time) (changed bool) {
	_, noted := a.Held[replica]
	if held == (Slots{}) {
		delete(a.Held, replica)
		return noted
	}
	if a.Held == nil {
		a.Held = map[string]Lease{}
	}
	a.Held[replica] = Lease{held, now.Add(LeaseFor).UnixMicro()}
	return true
}
