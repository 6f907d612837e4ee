// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// keyInterval is how long after the last one a lastUsedTime is written: it is for
// finding keys that nobody uses, which takes days.
const keyInterval = 5 * time.Minute

// KeyUsed records that the bridge was called with the key of that id. It never
// waits.
func (s *Writer) KeyUsed(b route.Backend, keyID string, at time.Time) {
	s.add(pendingUpdate{backend: b, keys: map[string]time.Time{keyID: at}})
}

// mergeKeyUses returns the later time of each key, in a map of its own.
func mergeKeyUses(a, b map[string]time.Time) map[string]time.Time {
	if a == nil {
		return b
	}
	both := maps.Clone(a)
	for id, at := range b {
		if at.After(both[id]) {
			both[id] = at
		}
	}
	return both
}

// keysUsed returns what status.keys should be, in the order of the spec, and
// whether that is worth a write. Keys that the bridge does not have any more
// leave the status with the next write.
func (n pendingUpdate) keysUsed(b *effective.Bridge) (keys []v1alpha1.APIKeyStatus, changed bool) {
	last := make(map[string]time.Time, len(b.Status.Keys))
	for _, k := range b.Status.Keys {
		last[k.ID] = k.LastUsedTime.Time
	}
	for _, k := range b.Spec.APIKeys {
		// The status has whole seconds.
		used, at := n.keys[k.ID].Truncate(time.Second), last[k.ID]
		if used.Sub(at) >= keyInterval {
			at, changed = used, true
		}
		if !at.IsZero() {
			keys = append(keys, v1alpha1.APIKeyStatus{ID: k.ID, LastUsedTime: metav1.NewTime(at)})
		}
	}
	return keys, changed
}
