// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// clockBack is by how much an answer may be older than one that came before it.
// One that is still older comes from a store whose clock was put back.
const clockBack = time.Second

// ask has the shared store take what is wanted, if it is there: otherwise asked
// is false, and this replica is on its own. The slot has been taken here before.
func (s *Store) ask(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) (v quota.Verdict, asked bool) {
	if s.link == nil || !s.link.up.Load() {
		return v, false
	}
	epoch, now := s.link.epoch.Load(), s.now()
	q := inquiry{bridge: bridge, tier: tier, want: want}
	s.accounts.update(bridge, s.clock.Now(), func(a *account) {
		if a.epoch == epoch && s.clock.Now().Sub(a.seenAt) < trustSeen {
			if _, v = quota.Take(a.seen, tier, now, want.Requests); !v.Allowed() {
				return
			}
		}
		q.inFlight, q.alone, q.seen = a.inFlight, a.epoch != epoch, a.seen
		// Nobody else may tell of it meanwhile.
		q.debt, a.debt, a.epoch = a.debt, quota.Debt{}, epoch
	})
	if !v.Allowed() {
		return v, true
	}
	return s.askFor(ctx, q, epoch)
}

func (s *Store) askFor(ctx context.Context, q inquiry, epoch int64) (v quota.Verdict, asked bool) {
	start := s.clock.Now()
	r, err := s.link.take(ctx, q)
	now := s.clock.Now()
	s.metrics.asked(now.Sub(start))
	if err != nil {
		s.accounts.update(q.bridge, now, func(a *account) { a.debt = a.debt.Join(q.debt) })
		s.fail(ctx, epoch, err)
		return v, false
	}
	s.link.ahead.Store(int64(r.now.Sub(now)))
	s.accounts.update(q.bridge, now, func(a *account) {
		a.sharing = false
		// Answers may come in another order than they were given.
		if r.now.After(a.seenBy) || a.seenBy.Sub(r.now) > clockBack {
			a.seen, a.seenBy, a.seenAt = r.state, r.now, now
		}
		a.told = q.inFlight
		if r.refused != quota.None && q.want.Slot != quota.None {
			a.told[index(q.want.Slot)]--
		}
		s.tell(q.bridge, a)
	})
	_, v = quota.Take(r.state, q.tier, r.now, 0)
	v.Refused, v.RetryAfter = r.refused, r.wait
	return v, true
}

// fail notes that the shared store did not answer as it should. From now on
// nobody asks it until it answers again.
func (s *Store) fail(ctx context.Context, epoch int64, err error) {
	if epoch != s.link.epoch.Load() || !s.link.up.CompareAndSwap(true, false) {
		return
	}
	s.metrics.up.Set(0)
	s.log.WarnContext(ctx, "the quota store is away: each replica gives its share of the quotas", "replicas", s.others(), "error", err)
}
