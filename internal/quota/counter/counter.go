// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// keepFor is how long an unused account is kept: a day and an hour, longer
	// than any window.
	keepFor = 25 * time.Hour
	// sweepInterval is how often unused accounts are removed.
	sweepInterval = time.Hour
)

// Counter counts for all replicas. It is safe for concurrent use.
type Counter struct {
	path  string // empty for no file
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	marker   string
	users    map[types.UID]*account
	replicas map[string]time.Time // by when they reported last
	swept    time.Time
	// changed means that the file lacks something.
	changed bool
}

// account is what is counted for the user of one bridge. Times are in
// microseconds of Unix time.
type account struct {
	State quota.State
	// Held is what each replica has in flight.
	Held map[string]lease `json:",omitempty"`
	Used int64
}

// lease is what one replica has in flight, and until when that holds.
type lease struct {
	Slots  Slots
	Expiry int64
}

// Take takes what is wanted, all of it or nothing. It returns ErrForgotten,
// having done nothing, if the inquiry has another marker.
func (c *Counter) Take(q Inquiry) (Reply, error) {
	if err := q.validate(); err != nil {
		return Reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.Marker != c.marker {
		return Reply{}, ErrForgotten
	}
	now := time.UnixMicro(c.clock.Now().UnixMicro())
	a := c.account(q.Bridge, now)
	if q.Alone {
		a.State = a.State.Settle(q.Seen, q.Debt, now)
	}
	slot, held, requests := q.Want.Slot, q.InFlight, q.Want.Requests
	full := slot != quota.None && a.heldByOthers(q.Replica, now)[Index(slot)]+held[Index(slot)] > most(q.Tier, slot)
	if full {
		requests = 0
	}
	var v quota.Verdict
	a.State, v = quota.Take(a.State, q.Tier, now, requests)
	if full {
		v.Refused = slot
	}
	if !v.Allowed() && slot != quota.None {
		held[Index(slot)]--
	}
	a.hold(q.Replica, held, now)
	return Reply{Refused: v.Refused, Wait: v.RetryAfter, Now: now, State: a.State}, nil
}

// Beat notes that a replica is there.
func (c *Counter) Beat(replica string) Presence {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for name, at := range c.replicas {
		if now.Sub(at) >= ReplicaFor {
			delete(c.replicas, name)
		}
	}
	c.replicas[replica] = now
	return Presence{Replicas: int64(len(c.replicas)), Marker: c.marker}
}

// Leave forgets a replica that has ended.
func (c *Counter) Leave(replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.replicas, replica)
}

// Tell notes what a replica has in flight of some users.
func (c *Counter) Tell(replica string, told map[types.UID]Slots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for bridge, held := range told {
		if c.users[bridge] != nil || held != (Slots{}) {
			c.account(bridge, now).hold(replica, held, now)
		}
	}
}

// account returns that of a bridge, a new one if there is none. The caller holds
// the lock.
func (c *Counter) account(bridge types.UID, now time.Time) *account {
	if now.Sub(c.swept) > sweepInterval {
		c.sweep(now)
	}
	a := c.users[bridge]
	if a == nil {
		a = &account{}
		c.users[bridge] = a
	}
	a.Used, c.changed = now.UnixMicro(), true
	return a
}

func (c *Counter) sweep(now time.Time) {
	c.swept = now
	for bridge, a := range c.users {
		if now.Sub(time.UnixMicro(a.Used)) > keepFor {
			delete(c.users, bridge)
		}
	}
}

// heldByOthers returns what other replicas have in flight, and forgets those
// that have not reported for long.
func (a *account) heldByOthers(replica string, now time.Time) (sum Slots) {
	for name, l := range a.Held {
		switch {
		case name == replica:
		case l.Expiry <= now.UnixMicro():
			delete(a.Held, name)
		default:
			sum[0], sum[1] = sum[0]+l.Slots[0], sum[1]+l.Slots[1]
		}
	}
	return sum
}

// hold notes what a replica has in flight.
func (a *account) hold(replica string, held Slots, now time.Time) {
	if held == (Slots{}) {
		delete(a.Held, replica)
		return
	}
	if a.Held == nil {
		a.Held = map[string]lease{}
	}
	a.Held[replica] = lease{held, now.Add(LeaseFor).UnixMicro()}
}

// most returns the tier's limit of a kind of slot.
func most(t quota.Tier, slot quota.Limit) int {
	if slot == quota.Streams {
		return int(t.Streams)
	}
	return int(t.ConcurrentCalls)
}
