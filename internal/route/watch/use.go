// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// wakeTries is how often a wake is written that another writer is quicker
	// than, and wakePause how long between: the watch shows within some
	// milliseconds what that one wrote.
	wakeTries = 4
	wakePause = 25 * time.Millisecond
)

// inUse is a bridge that is in use, and how many calls have it so.
type inUse struct {
	backend route.Backend
	calls   int
}

// Began notes that a call of the bridge is in flight. Until as many have Ended
// the bridge is in use at each moment.
func (s *StatusWriter) Began(b route.Backend, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[b.BridgeUID]
	if u == nil {
		u = &inUse{backend: b}
		s.uses[b.BridgeUID] = u
	}
	u.calls++
	s.keepNote(note{backend: b, calledAt: at})
}

// Ended notes that a call that Began is not in flight any more.
func (s *StatusWriter) Ended(b route.Backend, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[b.BridgeUID]
	if u == nil {
		return
	}
	if u.calls--; u.calls == 0 {
		delete(s.uses, b.BridgeUID)
	}
	s.keepNote(note{backend: b, calledAt: at})
}

// noteUses notes that every bridge with a call in flight is in use now. The
// caller holds s.mu.
func (s *StatusWriter) noteUses(now time.Time) {
	for _, u := range s.uses {
		s.keepNote(note{backend: u.backend, calledAt: now})
	}
}

// Wake tells the operator that the bridge is called, if it sleeps, and returns
// when that is written or needless. It does not wait for the bridge.
func (s *StatusWriter) Wake(ctx context.Context, b route.Backend) error {
	for try := 1; ; try++ {
		bridge, err := s.bridge(ctx, b)
		if err != nil {
			return fmt.Errorf("wake: %w", err) // Gone, and then nobody waits for it.
		}
		if !bridge.Asleep() || bridge.Woken() {
			return nil
		}
		err = s.writeWake(ctx, bridge, time.Now())
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || try == wakeTries {
			return fmt.Errorf("wake: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wake: %w", ctx.Err())
		case <-time.After(wakePause):
		}
	}
}

// writeWake moves lastActivityTime past the time since when the bridge sleeps,
// also where that was written by a clock that is ahead of ours. Its version
// makes the API server refuse it for a later bridge of the same name.
func (s *StatusWriter) writeWake(ctx context.Context, bridge *v1alpha1.HostedBridge, now time.Time) error {
	if earliest := bridge.Status.IdleSince.Add(time.Second); now.Before(earliest) {
		now = earliest
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": bridge.ResourceVersion},
		"status":   map[string]any{"lastActivityTime": metav1.NewTime(now)},
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.patch(ctx, bridge, patch)
}
