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
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// copyable returns the values of indexKey.
func copyable(b *v1alpha1.HostedBridge) []string {
	var values []string
	for _, k := range bridgestate.CopyableKeys(b) {
		values = append(values, k.ID+" "+k.Hash)
	}
	return values
}

// sharers returns the bridges that have a key of b, b itself included. If all
// hashes of a bridge are bound to the user, it reads nothing.
func (r *Reconciler) sharers(ctx context.Context, b *v1alpha1.HostedBridge) ([]v1alpha1.HostedBridge, error) {
	var found []v1alpha1.HostedBridge
	for _, value := range copyable(b) {
		var list v1alpha1.HostedBridgeList
		if err := r.Client.List(ctx, &list, client.MatchingFields{indexKey: value}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list HostedBridges of the key: %w", err)
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

// bridgesSharingKeys maps a HostedBridge to all that have one of its keys:
// whether a key is shared is decided again for each of them.
func (m eventMapper) bridgesSharingKeys(ctx context.Context, o client.Object) []reconcile.Request {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, value := range copyable(b) {
		requests = append(requests, m.requests(ctx, client.MatchingFields{indexKey: value})...)
	}
	return requests
}

// keysChanged passes a HostedBridge that comes or goes, and one that has other
// keys than before.
func keysChanged() predicate.Predicate {
	return predicate.Or(claimChanged(), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !slices.Equal(copyable(before), copyable(after))
	}})
}
