// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// beatInterval is how often the shared store is told of this replica, and
	// asked whether it is there again.
	beatInterval = time.Second
	// replicaFor is how long a replica counts that is not heard of any more.
	replicaFor = 10 * time.Second
	// tellDelay is how long the end of a call may go untold: most users have
	// begun the next one by then, which tells of it too.
	tellDelay = 10 * time.Millisecond
	// renewInterval is how often calls that go on are told of again; two times
	// may fail before leaseFor is over.
	renewInterval = 10 * time.Second
)

// Run keeps the shared store told, until ctx ends. Without one it returns then.
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
			s.tellAll(ctx) // Those of whom it could not be told.
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

// renew has the store told of all calls and streams again.
func (s *Store) renew() {
	s.accounts.each(func(bridge types.UID, a *account) {
		if a.inFlight != (slots{}) {
			s.link.untold.Store(bridge, struct{}{})
		}
	})
}

// beat tells of this replica, and notices whether the store is there and knows
// what it knew.
func (s *Store) beat(ctx context.Context) {
	s.link.learning.Lock()
	defer s.link.learning.Unlock()
	before := s.link.memory.Load()
	marker, err := s.link.beat(ctx)
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
		// Whoever asks from now on tells what was allowed meanwhile.
		s.link.memory.Store(&memory{epoch: before.epoch + 1, marker: marker})
	}
	s.link.up.Store(true)
	s.metrics.up.Set(1)
	s.log.InfoContext(ctx, "the quota store is there", "replicas", s.link.replicas.Load())
}

// tellAll tells the store what is in flight of the users of whom it knows
// otherwise. Those of whom it cannot be told are told of later: what it knows
// holds for leaseFor, and whoever asks tells his numbers with it. Whether the
// store is there is for those to find out who wait for it.
func (s *Store) tellAll(ctx context.Context) {
	if !s.link.up.Load() {
		return
	}
	told := make(map[types.UID]slots, tellAtOnce)
	s.link.untold.Range(func(k, _ any) bool {
		bridge := k.(types.UID)
		s.link.untold.Delete(bridge)
		told[bridge] = s.accounts.known(bridge).inFlight
		return len(told) < tellAtOnce || s.tellSome(ctx, told)
	})
	s.tellSome(ctx, told)
}

// tellSome tells the store of some users, who are not in told afterwards. It
// reports whether it could.
func (s *Store) tellSome(ctx context.Context, told map[types.UID]slots) bool {
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
