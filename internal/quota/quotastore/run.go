// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// beatInterval is how often this replica reports to the shared store, and
	// checks whether it is available again.
	beatInterval = time.Second
	// tellDelay is how long the end of a call may go untold: most users have
	// begun the next one by then, which tells of it too.
	tellDelay = 10 * time.Millisecond
	// renewInterval is how often calls in flight are reported again; two
	// reports may fail before quota.LeaseFor is over.
	renewInterval = 10 * time.Second
)

// Run keeps the shared store up to date, until ctx ends. Without a store it
// returns then.
func (s *Store) Run(ctx context.Context) error {
	if s.link == nil {
		<-ctx.Done()
		return nil
	}
	defer s.link.leave(context.WithoutCancel(ctx))
	beat, renew := s.clock.After(0), s.clock.After(renewInterval)
	var tell <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			s.tellAll(context.WithoutCancel(ctx))
			return nil
		case <-beat:
			s.beat(ctx)
			s.tellAll(ctx) // The users whose report failed.
			beat = s.clock.After(beatInterval)
		case <-renew:
			s.renew()
			s.tellAll(ctx)
			renew = s.clock.After(renewInterval)
		case <-s.link.telling:
			if tell == nil {
				tell = s.clock.After(tellDelay)
			}
		case <-tell:
			tell = nil
			s.tellAll(ctx)
		}
	}
}

// renew reports all calls and streams to the store again.
func (s *Store) renew() {
	s.accounts.each(func(bridge types.UID, a *account) {
		if a.inFlight != (quota.Slots{}) {
			s.link.untold.Store(bridge, struct{}{})
		}
	})
}

// beat reports this replica, and notes whether the store is available and has
// kept its memory.
func (s *Store) beat(ctx context.Context) {
	s.link.learning.Lock()
	defer s.link.learning.Unlock()
	before := s.link.memory.Load()
	marker, err := s.link.beat(ctx)
	// Whatever came of it, requests are counted by it from here on.
	defer func() { s.link.tried.Store(s.link.tried.Load() || !errors.Is(err, jsoncall.ErrNoCertificate)) }()
	if err != nil {
		s.fail(ctx, before, err)
		return
	}
	s.metrics.replicas.Set(float64(s.others()))
	m := s.remember(ctx, before, marker)
	if s.link.up.Load() {
		return
	}
	if m == before {
		// Requests from now on report what was allowed meanwhile.
		s.link.memory.Store(&memory{epoch: before.epoch + 1, marker: marker})
	}
	s.link.up.Store(true)
	s.metrics.up.Set(1)
	s.log.InfoContext(ctx, "the quota store is there", "replicas", s.link.replicas.Load())
}

// tellAll reports to the store what is in flight of each user whose numbers
// changed. Failed reports are repeated later: the store's numbers are valid for
// quota.LeaseFor, and each request reports its user's numbers too. Only requests
// decide whether the store is available, since they wait for it.
func (s *Store) tellAll(ctx context.Context) {
	if !s.link.up.Load() {
		return
	}
	told := make(map[types.UID]quota.Slots, tellAtOnce)
	s.link.untold.Range(func(k, _ any) bool {
		bridge := k.(types.UID)
		s.link.untold.Delete(bridge)
		told[bridge] = s.accounts.known(bridge).inFlight
		return len(told) < tellAtOnce || s.tellSome(ctx, told)
	})
	s.tellSome(ctx, told)
}

// tellSome reports some users to the store, and then removes them from told. It
// returns whether that succeeded.
func (s *Store) tellSome(ctx context.Context, told map[types.UID]quota.Slots) bool {
	if len(told) == 0 {
		return true
	}
	defer clear(told)
	if err := s.link.tell(ctx, told); err != nil {
		for bridge := range told {
			s.link.untold.Store(bridge, struct{}{})
		}
		return false
	}
	for bridge, inFlight := range told {
		s.accounts.update(bridge, s.clock.Now(), func(a *account) {
			a.told = inFlight
			s.tell(bridge, a)
		})
	}
	return true
}
