// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// clockBack is by how much an answer may be older than one that came before it.
// One that is still older comes from a store whose clock was put back.
const clockBack = time.Second

// ask takes what is wanted from the shared store, if it is available: otherwise
// asked is false, and this replica counts alone. The caller has taken the slot
// here before.
func (s *Store) ask(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) (v quota.Verdict, asked bool) {
	if s.link == nil || !s.link.up.Load() {
		return v, false
	}
	m, q := s.link.memory.Load(), Inquiry{Bridge: bridge, Inquiry: quota.Inquiry{Tier: tier, Want: want}}
	v, err := s.askOnce(ctx, m, q)
	if errors.Is(err, ErrForgotten) {
		if m, err = s.learn(ctx, m); err == nil {
			v, err = s.askOnce(ctx, m, q)
		}
	}
	if err != nil && !errors.Is(err, errContended) {
		s.fail(ctx, m, err)
	}
	return v, err == nil
}

// askOnce asks the store with the memory m. On an error it has taken nothing.
func (s *Store) askOnce(ctx context.Context, m *memory, q Inquiry) (v quota.Verdict, err error) {
	now := s.now()
	s.accounts.update(q.Bridge, s.clock.Now(), func(a *account) {
		if a.epoch == m.epoch && s.clock.Now().Sub(a.seenAt) < trustSeen {
			if _, v = quota.Take(a.seen, q.Tier, now, q.Want.Requests); !v.Allowed() {
				return
			}
		}
		q.Marker, q.InFlight, q.Seen = m.marker, a.inFlight, a.seen
		// Each request reports what was seen until the store has answered one: another may
		// reach it first. No other may report the debt, which adds up.
		q.Alone = a.epoch < m.epoch || a.debt != (quota.Debt{})
		q.Debt, a.debt = a.debt, quota.Debt{}
	})
	if !v.Allowed() {
		return v, nil
	}
	start := s.clock.Now()
	r, err := s.link.take(ctx, q)
	s.metrics.asked(s.clock.Now().Sub(start))
	if err != nil {
		// The next request reports what this replica allows meanwhile.
		s.accounts.update(q.Bridge, s.clock.Now(), func(a *account) { a.debt = a.debt.Join(q.Debt) })
		return v, err
	}
	s.answered(m, q, r)
	return r.Verdict(q.Tier), nil
}

// answered notes the answer of the store with the memory m.
func (s *Store) answered(m *memory, q Inquiry, r quota.Reply) {
	now := s.clock.Now()
	s.link.ahead.Store(int64(r.Now.Sub(now)))
	s.accounts.update(q.Bridge, now, func(a *account) {
		a.sharing, a.epoch = false, max(a.epoch, m.epoch)
		// Answers may arrive in another order than they were given.
		if r.Now.After(a.seenBy) || a.seenBy.Sub(r.Now) > clockBack {
			a.seen, a.seenBy, a.seenAt = r.State, r.Now, now
		}
		a.told = q.InFlight
		if r.Refused != quota.None {
			a.told.Add(q.Want.Slot, -1)
		}
		s.tell(q.Bridge, a)
	})
}

// learn returns the store's current memory, after the store forgot the earlier
// one: the next request reports what this replica knew. If several goroutines
// notice that at the same time, one asks.
func (s *Store) learn(ctx context.Context, before *memory) (*memory, error) {
	s.link.learning.Lock()
	defer s.link.learning.Unlock()
	if m := s.link.memory.Load(); m != before {
		return m, nil
	}
	marker, err := s.link.beat(context.WithoutCancel(ctx))
	if err != nil {
		return before, err
	}
	return s.remember(ctx, before, marker), nil
}

// remember returns the store's memory, a new one if its marker changed. The
// caller holds link.learning.
func (s *Store) remember(ctx context.Context, before *memory, marker string) *memory {
	if marker == before.marker {
		return before
	}
	m := &memory{epoch: before.epoch + 1, marker: marker}
	s.link.memory.Store(m)
	s.renew()
	if before.marker != "" {
		s.log.WarnContext(ctx, "the quota store has lost what it knew: each replica tells it what it knows")
	}
	return m
}

// fail notes that the shared store did not answer properly. From now on no
// request asks it until it answers again.
func (s *Store) fail(ctx context.Context, m *memory, err error) {
	if m != s.link.memory.Load() || !s.link.up.CompareAndSwap(true, false) {
		return
	}
	s.metrics.up.Set(0)
	s.log.WarnContext(ctx, "the quota store is away: each replica gives its share of the quotas", "replicas", s.others(), "error", err)
}
