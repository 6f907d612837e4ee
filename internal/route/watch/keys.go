// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// keyGrain is how long after the last one a lastUsedTime is written: it is for
// finding keys that nobody uses, which takes days.
const keyGrain = 5 * time.Minute

// KeyUsed notes that the bridge was called with the key of that id. It never
// waits.
func (s *StatusWriter) KeyUsed(b route.Backend, keyID string, at time.Time) {
	s.keep(note{backend: b, keys: map[string]time.Time{keyID: at}})
}

// laterUses returns the later time of each key, in a map of its own.
func laterUses(a, b map[string]time.Time) map[string]time.Time {
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
func (n note) keysUsed(b *v1alpha1.HostedBridge) (keys []v1alpha1.APIKeyStatus, changed bool) {
	last := make(map[string]time.Time, len(b.Status.Keys))
	for _, k := range b.Status.Keys {
		last[k.ID] = k.LastUsedTime.Time
	}
	for _, k := range b.Spec.APIKeys {
		// The status has whole seconds.
		used, at := n.keys[k.ID].Truncate(time.Second), last[k.ID]
		if used.Sub(at) >= keyGrain {
			at, changed = used, true
		}
		if !at.IsZero() {
			keys = append(keys, v1alpha1.APIKeyStatus{ID: k.ID, LastUsedTime: metav1.NewTime(at)})
		}
	}
	return keys, changed
}
