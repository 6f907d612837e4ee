// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// approved returns what is approved for the bridge, if any of the profiles offers servers on
// request.
func (r *profiler) approved(ctx context.Context, b *v1alpha1.HostedBridge, selected []profile.Profile) (profile.Approvals, error) {
	if !slices.ContainsFunc(selected, profile.Profile.OffersOnRequest) {
		return nil, nil
	}
	var list v1alpha1.BridgeRequestList
	if err := r.client.List(ctx, &list, client.InNamespace(r.namespace), client.MatchingFields{indexRequestUser: string(b.User())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list BridgeRequests: %w", err)
	}
	return profile.Approved(list.Items, b), nil
}

// bridgesOfRequest maps a BridgeRequest to the HostedBridges of its user.
func (m eventMapper) bridgesOfRequest(ctx context.Context, o client.Object) []reconcile.Request {
	q, ok := o.(*v1alpha1.BridgeRequest)
	if !ok {
		return nil
	}
	return m.requests(ctx, client.MatchingFields{indexPerson: string(q.Spec.User)})
}

// approvalChanged passes a BridgeRequest if its user may turn on another set of servers.
func approvalChanged() predicate.Predicate {
	isApproved := func(o client.Object) bool {
		q, ok := o.(*v1alpha1.BridgeRequest)
		return ok && profile.IsApproved(q)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isApproved(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return isApproved(e.ObjectOld) != isApproved(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isApproved(e.Object) },
	}
}
