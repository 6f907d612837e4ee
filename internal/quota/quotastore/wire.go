// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// ReplicaFor is how long a replica counts after its last report.
const ReplicaFor = 10 * time.Second

// ErrForgotten says that the store has lost what it knew, and has done nothing.
var ErrForgotten = errors.New("the store has lost what it knew")

// Inquiry is what a replica asks for, of a bridge's user.
type Inquiry struct {
	quota.Inquiry

	Bridge types.UID
	// Marker is that of the memory that the store should have.
	Marker string
}

// validate refuses what cannot be counted.
func (q *Inquiry) validate() error {
	if q.Replica == "" || q.Bridge == "" {
		return fmt.Errorf("%w: the replica or the bridge is missing", jsoncall.ErrQuestion)
	}
	for limit := quota.Minute; limit < quota.Batch; limit++ {
		if q.Tier.Most(limit) < 1 {
			return fmt.Errorf("%w: the tier's limit %q is missing", jsoncall.ErrQuestion, limit)
		}
	}
	for _, n := range append(q.InFlight[:], q.Want.Requests) {
		if n < 0 {
			return fmt.Errorf("%w: a number is negative", jsoncall.ErrQuestion)
		}
	}
	if slot := q.Want.Slot; slot != quota.None && (slot < quota.Calls || slot >= quota.Batch) {
		return fmt.Errorf("%w: limit %d is no slot", jsoncall.ErrQuestion, slot)
	}
	return nil
}

// Replicas are those that are there, by when they reported last, in microseconds
// of Unix time.
type Replicas map[string]int64

// Note notes that a replica is there, and forgets those that have not reported
// for long.
func (r *Replicas) Note(replica string, now time.Time) {
	if *r == nil {
		*r = Replicas{}
	}
	maps.DeleteFunc(*r, func(_ string, at int64) bool { return now.UnixMicro()-at >= ReplicaFor.Microseconds() })
	(*r)[replica] = now.UnixMicro()
}

// Presence is what the store says to a replica that reports itself.
type Presence struct {
	Replicas int64
	// Marker stays the same for as long as the store keeps its counts.
	Marker string
}
