// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// LeaseFor is how long a replica's calls in flight count after its last
	// report.
	LeaseFor = 30 * time.Second
	// ReplicaFor is how long a replica counts after its last report.
	ReplicaFor = 10 * time.Second
)

// ErrForgotten says that the store has lost what it knew, and has done nothing.
var ErrForgotten = errors.New("the store has lost what it knew")

// Slots are numbers of calls and streams.
type Slots [2]int

// Index is where of is in Slots.
func Index(of quota.Limit) int { return int(of - quota.Calls) }

// Inquiry is what a replica asks for.
type Inquiry struct {
	Replica string
	Bridge  types.UID
	// Tier is the user's. Only the limits of calls matter.
	Tier quota.Tier
	Want quota.Want
	// InFlight is what the replica has in flight, with what it asks for.
	InFlight Slots
	// Marker is that of the memory that the store should have.
	Marker string
	// Alone means that the replica counted by itself since it last asked, and
	// Seen and Debt then are what it knows.
	Alone bool
	Seen  quota.State
	Debt  quota.Debt
}

// validate refuses what cannot be counted.
func (q *Inquiry) validate() error {
	t := q.Tier
	switch {
	case q.Replica == "" || q.Bridge == "":
		return fmt.Errorf("%w: the replica or the bridge is missing", jsoncall.ErrQuestion)
	case min(t.PerMinute, t.PerHour, t.PerDay, t.Burst, t.ConcurrentCalls, t.Streams) < 1:
		return fmt.Errorf("%w: a limit of the tier is missing", jsoncall.ErrQuestion)
	case q.Want.Requests < 0 || min(q.InFlight[0], q.InFlight[1]) < 0:
		return fmt.Errorf("%w: a number is negative", jsoncall.ErrQuestion)
	case q.Want.Slot != quota.None && q.Want.Slot != quota.Calls && q.Want.Slot != quota.Streams:
		return fmt.Errorf("%w: limit %d is no slot", jsoncall.ErrQuestion, q.Want.Slot)
	}
	return nil
}

// Reply is the answer to an Inquiry.
type Reply struct {
	Refused quota.Limit
	Wait    time.Duration
	// Now is the time by which the store counts, and State what it has counted.
	Now   time.Time
	State quota.State
}

// Presence is what the store says to a replica that reports itself.
type Presence struct {
	Replicas int64
	// Marker stays the same for as long as the store keeps its counts.
	Marker string
}
