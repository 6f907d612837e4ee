// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// trustSeen is for how long an answer of the shared store is told to requests
// that cost nothing, and a refusal repeated, without asking it again: a client that goes on calling costs it one request in that
// time. If it were longer, a user whose counts an administrator removes would
// notice it late.
const trustSeen = time.Second

// Options are the settings of a Store.
type Options struct {
	// Replicas is the minimum number of replicas, used until the shared store
	// knows the number; at least 1.
	Replicas int
	// Redis or Remote is the shared store, both nil for none. Remote is the
	// installation's own.
	Redis  *Redis
	Remote *jsoncall.Client
	// RemoteTimeout is how long a request waits for Remote before its replica goes
	// on alone, 250 ms if zero.
	RemoteTimeout time.Duration
	Clock         clock.Clock
	Metrics       prometheus.Registerer
	Log           *slog.Logger
}

// Store keeps what users have used. It is safe for concurrent use.
type Store struct {
	replicas int
	clock    clock.Clock
	accounts accounts
	link     *link // nil without a shared store.
	metrics  *metrics
	log      *slog.Logger
}

// New returns a store. With a shared store it begins as if that were
// unavailable, and asks for it once Run runs.
func New(o Options) (*Store, error) {
	l, err := o.link()
	if err != nil {
		return nil, fmt.Errorf("quota store: %w", err)
	}
	m, err := newMetrics(o.Metrics, l != nil)
	if err != nil {
		return nil, err
	}
	return &Store{
		replicas: max(1, o.Replicas), clock: o.Clock, metrics: m, log: o.Log, link: l,
		accounts: accounts{of: map[types.UID]*account{}},
	}, nil
}

// link returns the way to the shared store, nil without one.
func (o *Options) link() (*link, error) {
	switch {
	case o.Redis != nil:
		r, err := newRedis(*o.Redis)
		if err != nil {
			return nil, err
		}
		return newLink(r), nil
	case o.Remote != nil:
		return newLink(newRemote(o.Remote, o.RemoteTimeout)), nil
	}
	return nil, nil
}

// Shared reports whether the shared store was tried, and whether it answers. Before it was
// tried, this replica gives its share also while the store is there. Both are true without a
// shared store.
func (s *Store) Shared() (tried, answers bool) {
	return s.link == nil || s.link.tried.Load(), s.link == nil || s.link.up.Load()
}

// Take takes the wanted part of the quota of a bridge's user, who is of that
// tier: all of it or nothing. If the verdict allows it, the caller has to give
// the slot back.
func (s *Store) Take(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) quota.Verdict {
	v := s.take(ctx, bridge, tier, want)
	s.metrics.decided(v)
	return v
}

func (s *Store) take(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) quota.Verdict {
	slot := want.Slot
	if slot == quota.None && want.Requests == 0 {
		return s.Known(ctx, bridge, tier)
	}
	if slot != quota.None && !s.enter(ctx, bridge, slot, s.tier(tier).Most(slot)) {
		v := s.Known(ctx, bridge, tier)
		v.Refused = slot
		return v
	}
	v, asked := s.askPatiently(ctx, bridge, tier, want)
	if !asked {
		v = s.takeAlone(bridge, tier, want)
	}
	if !v.Allowed() {
		s.Give(bridge, slot)
	}
	return v
}

// askPatiently is ask, repeated once if all slots are taken: another replica
// may be about to report that one of its calls has ended.
func (s *Store) askPatiently(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) (v quota.Verdict, asked bool) {
	v, asked = s.ask(ctx, bridge, tier, want)
	if !asked || want.Slot == quota.None || v.Refused != want.Slot {
		return v, asked
	}
	select {
	case <-s.clock.After(slotWait):
		return s.ask(ctx, bridge, tier, want)
	case <-ctx.Done():
		return v, true
	}
}

// tier returns what this replica may give of a tier by itself.
func (s *Store) tier(t quota.Tier) quota.Tier {
	if s.link != nil && s.link.up.Load() {
		return t
	}
	return t.Share(s.others())
}

// others returns the number of replicas that share the quota.
func (s *Store) others() int {
	if s.link == nil {
		return s.replicas
	}
	return max(s.replicas, int(s.link.replicas.Load()))
}

// takeAlone takes from this replica's own share. A request for more than the
// whole share never passes at once.
func (s *Store) takeAlone(bridge types.UID, tier quota.Tier, want quota.Want) (v quota.Verdict) {
	now, replicas := s.now(), s.others()
	share := tier.Share(replicas)
	requests := want.Requests
	if !share.Fits(requests) {
		requests = 0
	}
	s.accounts.update(bridge, s.clock.Now(), func(a *account) {
		if s.link != nil && !a.sharing {
			a.state, a.sharing = a.seen.Shared(tier, replicas), true
		}
		a.state, v = quota.Take(a.state, share, now, requests)
		if s.link != nil && v.Allowed() && requests > 0 {
			a.debt = a.debt.Add(a.state, requests)
		}
	})
	if requests < want.Requests {
		v.Refused = quota.Batch
	}
	v.Replicas = replicas
	return v
}

// Known returns what is left to a bridge's user, and takes nothing. It asks the
// shared store, if it is available, unless that has answered within trustSeen:
// other replicas take from the same quota.
func (s *Store) Known(ctx context.Context, bridge types.UID, tier quota.Tier) quota.Verdict {
	a := s.accounts.known(bridge)
	if s.clock.Now().Sub(a.seenAt) >= trustSeen {
		if v, asked := s.ask(ctx, bridge, tier, quota.Want{}); asked {
			return v
		}
		a = s.accounts.known(bridge)
	}
	state, replicas := a.state, s.others()
	if s.link != nil && !a.sharing {
		state = a.seen
		if s.link.up.Load() {
			replicas = 1
		} else {
			state = a.seen.Shared(tier, replicas)
		}
	}
	_, v := quota.Take(state, tier.Share(replicas), s.now(), 0)
	v.Replicas = replicas
	return v
}

// now is the time by which requests are counted: the shared store's, as far as
// it is known, since the counts are by its clock.
func (s *Store) now() time.Time {
	now := s.clock.Now()
	if s.link != nil {
		now = now.Add(time.Duration(s.link.ahead.Load()))
	}
	return now
}
