// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// useGrain is how long after the last one a lastUsedAt is written: it is for
	// finding keys that nobody uses, which takes days.
	useGrain = 5 * time.Minute
	// usesEvery is how often what was noted is looked at.
	usesEvery = time.Second
)

// uses are the uses of keys that are not written yet.
type uses struct {
	mu    sync.Mutex
	notes map[use]time.Time
}

type use struct{ publisher, key string }

// NoteKeyUse notes that a publisher's key was used. It never waits. Only keys
// that are there are noted, so that there are never more notes than keys.
func (s *Store) NoteKeyUse(publisherID, keyID string, at time.Time) {
	p, there := s.publishers.Load().byID[publisherID]
	if !there {
		return
	}
	for _, k := range p.public.Keys {
		if k.ID != keyID || k.LastUsedAt != nil && at.Sub(*k.LastUsedAt) < useGrain {
			continue
		}
		s.uses.mu.Lock()
		defer s.uses.mu.Unlock()
		u := use{publisherID, keyID}
		if at.After(s.uses.notes[u]) {
			s.uses.notes[u] = at
		}
		return
	}
}

// writeUses writes what was noted until ctx ends. A use that cannot be written
// is forgotten: the next one comes.
func (s *Store) writeUses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(usesEvery):
		}
		for id, used := range s.takeUses() {
			if err := s.writeUse(ctx, id, used); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "the last use of a publisher's key is not written", "publisher", id, "error", err)
			}
		}
	}
}

// takeUses returns what was noted, by publisher and key.
func (s *Store) takeUses() map[string]map[string]time.Time {
	s.uses.mu.Lock()
	defer s.uses.mu.Unlock()
	taken := map[string]map[string]time.Time{}
	for u, at := range s.uses.notes {
		if taken[u.publisher] == nil {
			taken[u.publisher] = map[string]time.Time{}
		}
		taken[u.publisher][u.key] = at
	}
	clear(s.uses.notes)
	return taken
}

// writeUse writes when a publisher's keys were used. Keys that it does not have
// any more leave the status with it.
func (s *Store) writeUse(ctx context.Context, id string, used map[string]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.again(ctx, func() error {
		o, err := s.publisher(ctx, id)
		if err != nil {
			return err
		}
		before := o.DeepCopy()
		if !noteUses(o, used) {
			return nil
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err = s.client.Status().Patch(ctx, o, patch, client.FieldOwner(v1alpha1.FieldOwnerIngress))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("patch the status of CatalogPublisher: %w", err)
		}
		return nil
	})
}

// noteUses lays the uses over the status, and reports whether that is worth a
// write.
func noteUses(o *v1alpha1.CatalogPublisher, used map[string]time.Time) bool {
	last := make(map[string]time.Time, len(o.Status.Keys))
	for _, k := range o.Status.Keys {
		if k.LastUsedAt != nil {
			last[k.ID] = k.LastUsedAt.Time
		}
	}
	var keys []v1alpha1.PublisherKeyStatus
	changed := false
	for _, k := range o.Spec.Keys {
		// The status has whole seconds.
		at, now := last[k.ID], used[k.ID].Truncate(time.Second)
		if now.Sub(at) >= useGrain {
			at, changed = now, true
		}
		if !at.IsZero() {
			keys = append(keys, v1alpha1.PublisherKeyStatus{ID: k.ID, LastUsedAt: new(metav1.NewTime(at))})
		}
	}
	o.Status.Keys = keys
	return changed
}
