// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// slotWait is how long a call waits until another call of its user ends. A
// client with all its calls in flight sends the next one at the end of an
// answer, which is before we know that the call has ended.
const slotWait = 100 * time.Millisecond

// enter takes a slot of this replica, of at most limit, and waits for one if
// necessary.
func (s *Store) enter(ctx context.Context, bridge types.UID, slot quota.Limit, limit int64) bool {
	var patience <-chan time.Time
	for {
		freed := s.tryEnter(bridge, slot, limit)
		if freed == nil {
			return true
		}
		if patience == nil {
			patience = s.clock.After(slotWait)
		}
		select {
		case <-freed:
		case <-patience:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// tryEnter takes a slot and returns nil, or a channel that is closed when one
// is free.
func (s *Store) tryEnter(bridge types.UID, slot quota.Limit, limit int64) (freed <-chan struct{}) {
	s.accounts.update(bridge, s.clock.Now(), func(a *account) {
		if int64(a.inFlight[slot-quota.Calls]) < limit {
			a.inFlight.Add(slot, 1)
			return
		}
		if a.freed == nil {
			a.freed = make(chan struct{})
		}
		freed = a.freed
	})
	return freed
}

// Give returns the slot that Take has given with what it allowed.
func (s *Store) Give(bridge types.UID, slot quota.Limit) {
	if slot == quota.None {
		return
	}
	s.accounts.update(bridge, s.clock.Now(), func(a *account) {
		a.inFlight.Add(slot, -1)
		if a.freed != nil {
			close(a.freed)
			a.freed = nil
		}
		s.tell(bridge, a)
	})
}

// tell queues a report to the shared store of what is in flight, if that
// changed.
func (s *Store) tell(bridge types.UID, a *account) {
	if s.link == nil || a.inFlight == a.told {
		return
	}
	s.link.untold.Store(bridge, struct{}{})
	select {
	case s.link.telling <- struct{}{}:
	default: // The report is queued already.
	}
}
