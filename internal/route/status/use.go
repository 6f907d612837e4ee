// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// wakeTries is how often a wake is written that conflicts with another
	// writer's update, and wakePause is the pause between two tries: the watch
	// shows the other update within some milliseconds.
	wakeTries = 4
	wakePause = 25 * time.Millisecond
)

// usage counts the calls of a bridge that are in flight.
type usage struct {
	backend route.Backend
	calls   int
}

// Began records that a call of the bridge is in flight. The bridge is in use at
// each moment until every call that Began has Ended.
func (s *Writer) Began(b route.Backend, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.inUse[b.BridgeUID]
	if u == nil {
		u = &usage{backend: b}
		s.inUse[b.BridgeUID] = u
	}
	u.calls++
	s.addLocked(pendingUpdate{backend: b, calledAt: at})
}

// Ended records that a call that Began is no longer in flight.
func (s *Writer) Ended(b route.Backend, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.inUse[b.BridgeUID]
	if u == nil {
		return
	}
	if u.calls--; u.calls == 0 {
		delete(s.inUse, b.BridgeUID)
	}
	s.addLocked(pendingUpdate{backend: b, calledAt: at})
}

// addUsesLocked records that every bridge with a call in flight is in use now.
// The caller holds s.mu.
func (s *Writer) addUsesLocked(now time.Time) {
	for _, u := range s.inUse {
		s.addLocked(pendingUpdate{backend: u.backend, calledAt: now})
	}
}

// Wake records in the status that a sleeping bridge is called, which has the
// operator start it. It does not wait for the bridge.
func (s *Writer) Wake(ctx context.Context, b route.Backend) error {
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

// writeWake moves lastActivityTime past the time since when the bridge sleeps. The version
// makes the API server refuse it for a later bridge of the same name.
func (s *Writer) writeWake(ctx context.Context, bridge *effective.Bridge, now time.Time) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": bridge.ResourceVersion},
		"status":   map[string]any{"lastActivityTime": metav1.NewTime(bridge.WakeTime(now))},
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.patch(ctx, bridge.HostedBridge, patch)
}
