// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// The reasons of events about what a person changed.
const (
	reasonCreated     = "Created"
	reasonSuspended   = "Suspended"
	reasonResumed     = "Resumed"
	reasonTierChanged = "TierChanged"
	reasonKeyAdded    = "KeyAdded"
	reasonKeyRemoved  = "KeyRemoved"
)

// change is an event about what a person changed.
type change struct{ reason, note string }

// emitChanges emits an event when a bridge is created, suspended or resumed, and
// when its tier or its keys change. Falling asleep and waking have no event: a bridge
// may do so every few minutes. Only the leader emits, and it does not know what
// changed while no operator ran. It enqueues nothing.
func (r *Reconciler) emitChanges(elected <-chan struct{}) handler.EventHandler {
	emit := func(b *v1alpha1.HostedBridge, changes ...change) {
		select {
		case <-elected:
		default:
			return
		}
		for _, c := range changes {
			r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, c.reason, "Change", "%s", bridgestate.Note(c.note))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			// At the start of the operator all bridges come; most have a status.
			if b, ok := e.Object.(*v1alpha1.HostedBridge); ok && b.Status.Phase == "" {
				emit(b, change{reasonCreated, fmt.Sprintf("the bridge of user %s, of the tier %s", b.User(), b.Spec.Tier)})
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
			after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
			if ok && ok2 && before.Generation != after.Generation {
				emit(after, changesOf(before.Spec, after.Spec)...)
			}
		},
	}
}

// changesOf returns what changed from one spec to another.
func changesOf(before, after v1alpha1.HostedBridgeSpec) []change {
	var changes []change
	was, is := before.DesiredState == v1alpha1.StateSuspended, after.DesiredState == v1alpha1.StateSuspended
	switch {
	case is && !was:
		changes = append(changes, change{reasonSuspended, "spec.desiredState is Suspended: the pod ends, and calls are refused"})
	case was && !is:
		changes = append(changes, change{reasonResumed, fmt.Sprintf("spec.desiredState is %s: calls are accepted", after.DesiredState)})
	}
	if before.Tier != after.Tier {
		changes = append(changes, change{reasonTierChanged, fmt.Sprintf("the tier was %s and is %s", before.Tier, after.Tier)})
	}
	// A hash under another id, or another hash under an id, is another key.
	had, has := keyHashes(before), keyHashes(after)
	if removed := without(had, has); removed != "" {
		changes = append(changes, change{reasonKeyRemoved, "API keys that no longer work: " + removed})
	}
	if added := without(has, had); added != "" {
		changes = append(changes, change{reasonKeyAdded, "API keys that work: " + added})
	}
	return changes
}

// keyHashes returns the hashes of a spec's API keys by id.
func keyHashes(s v1alpha1.HostedBridgeSpec) map[string]string {
	hashes := make(map[string]string, len(s.APIKeys))
	for _, k := range s.APIKeys {
		hashes[k.ID] = k.Hash
	}
	return hashes
}

// without returns the ids of the keys that others does not have.
func without(keys, others map[string]string) string {
	keys = maps.Clone(keys)
	maps.DeleteFunc(keys, func(id, hash string) bool { return others[id] == hash })
	return strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
}
