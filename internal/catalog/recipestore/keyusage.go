// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// useInterval is the minimum time between two writes of a lastUsedAt: it
	// helps to find unused keys, which takes days.
	useInterval = 5 * time.Minute
	// writeInterval is how often pending uses are written.
	writeInterval = time.Second
)

// keyUsage writes when publishers' keys were used.
type keyUsage struct {
	reader *Reader
	writer *Writer
	log    *slog.Logger

	mu sync.Mutex
	// pending are the uses that are not written yet.
	pending map[usedKey]time.Time
}

type usedKey struct{ publisher, key string }

// NoteKeyUse records that a publisher's key was used. It never waits. Only
// known keys are recorded, so their number bounds the memory.
func (k *keyUsage) NoteKeyUse(publisherID, keyID string, at time.Time) {
	p, there := k.reader.publishers.Load().byID[publisherID]
	if !there {
		return
	}
	for _, key := range p.public.Keys {
		if key.ID != keyID || key.LastUsedAt != nil && at.Sub(*key.LastUsedAt) < useInterval {
			continue
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		u := usedKey{publisherID, keyID}
		if at.After(k.pending[u]) {
			k.pending[u] = at
		}
		return
	}
}

// run writes the pending uses until ctx ends. A use that cannot be written is
// dropped: the next one will be written.
func (k *keyUsage) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(writeInterval):
		}
		for id, used := range k.takePending() {
			if err := k.write(ctx, id, used); err != nil && ctx.Err() == nil {
				k.log.WarnContext(ctx, "the last use of a publisher's key is not written", "publisher", id, "error", err)
			}
		}
	}
}

// takePending returns the pending uses, by publisher and key.
func (k *keyUsage) takePending() map[string]map[string]time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := map[string]map[string]time.Time{}
	for u, at := range k.pending {
		if taken[u.publisher] == nil {
			taken[u.publisher] = map[string]time.Time{}
		}
		taken[u.publisher][u.key] = at
	}
	clear(k.pending)
	return taken
}

// write writes when a publisher's keys were used. Keys that the publisher no
// longer has are removed from the status with it.
func (k *keyUsage) write(ctx context.Context, id string, used map[string]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return retryConflict(ctx, func() error {
		o, err := k.writer.getPublisher(ctx, id)
		if err != nil {
			return err
		}
		before := o.DeepCopy()
		if !mergeKeyUses(o, used) {
			return nil
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err = k.writer.client.Status().Patch(ctx, o, patch, client.FieldOwner(v1alpha1.FieldOwnerIngress))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("patch the status of CatalogPublisher: %w", err)
		}
		return nil
	})
}

// mergeKeyUses adds the uses to the status, and reports whether the change is
// large enough to be written.
func mergeKeyUses(o *v1alpha1.CatalogPublisher, used map[string]time.Time) bool {
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
		if now.Sub(at) >= useInterval {
			at, changed = now, true
		}
		if !at.IsZero() {
			keys = append(keys, v1alpha1.PublisherKeyStatus{ID: k.ID, LastUsedAt: new(metav1.NewTime(at))})
		}
	}
	o.Status.Keys = keys
	return changed
}
