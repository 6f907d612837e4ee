// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// enqueueSharing enqueues the bridges of the profiles that name a changed SharedServer. A
// deleted one makes room for any other.
func (m eventMapper) enqueueSharing() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			m.enqueueProfilesNaming(ctx, q, e.Object.GetName())
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld, e.ObjectNew
			if before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
				before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
				m.enqueueProfilesNaming(ctx, q, after.GetName())
			}
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q queue) { m.enqueueProfilesNaming(ctx, q, "") },
	}
}

// enqueueProfilesNaming enqueues the bridges of the profiles that name the SharedServer, or
// any where the name is empty.
func (m eventMapper) enqueueProfilesNaming(ctx context.Context, q queue, name string) {
	var list v1alpha1.BridgeProfileList
	if err := m.client.List(ctx, &list, client.InNamespace(m.settings.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list BridgeProfiles")
		return
	}
	for i := range list.Items {
		p := &list.Items[i]
		if slices.ContainsFunc(p.Status.Revisions, func(r v1alpha1.ProfileRevision) bool {
			revision, err := profile.Of(p, r)
			return err == nil && revision.Names(name)
		}) {
			m.enqueueProfile(ctx, q, p)
		}
	}
}
