// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// isWaking is the one value of indexWaking.
const isWaking = "true"

// waking returns whether it is the turn of b to wake, if b waits for it.
func (r *Reconciler) waking(ctx context.Context, b *v1alpha1.HostedBridge, now time.Time) (bridgestate.Waking, error) {
	w := bridgestate.Waking{Limit: r.Settings.MaxWaking}
	if w.Limit == 0 || !effective.Woken(b) {
		return w, nil
	}
	others, err := listWaking(ctx, r.Client)
	w.Ahead = bridgestate.Ahead(b, others, now)
	return w, err
}

// listWaking returns the bridges that wake. The objects are the cache's own,
// not copies: when a thousand bridges wake, each reconciliation reads all of
// them.
func listWaking(ctx context.Context, reader client.Reader) ([]v1alpha1.HostedBridge, error) {
	var list v1alpha1.HostedBridgeList
	if err := reader.List(ctx, &list, client.MatchingFields{indexWaking: isWaking}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list HostedBridges that wake: %w", err)
	}
	return list.Items, nil
}

// nextInQueue maps a bridge whose start has ended to those whose turn it may be
// now.
func (m eventMapper) nextInQueue(ctx context.Context, _ client.Object) []reconcile.Request {
	list, err := listWaking(ctx, m.client)
	if err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "find who wakes next")
		return nil
	}
	queue := make([]*v1alpha1.HostedBridge, 0, len(list))
	for i := range list {
		if bridgestate.InQueue(&list[i]) {
			queue = append(queue, &list[i])
		}
	}
	slices.SortFunc(queue, bridgestate.CompareTurns)
	queue = queue[:min(len(queue), m.settings.MaxWaking)]
	requests := make([]reconcile.Request, len(queue))
	for i, b := range queue {
		requests[i].NamespacedName = client.ObjectKeyFromObject(b)
	}
	return requests
}

// woken passes a HostedBridge that was called while it slept. Use of a running
// bridge is read when its idle timeout ends, and wakes no other bridge.
func woken() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !effective.Woken(before) && effective.Woken(after)
	}}
}

// startEnded passes a HostedBridge that was starting because it was called, and
// is not starting any more.
func (m eventMapper) startEnded() predicate.Predicate {
	starting := func(o client.Object) bool {
		b, ok := o.(*v1alpha1.HostedBridge)
		return ok && bridgestate.Starting(b, m.clock.Now())
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return starting(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return m.settings.MaxWaking > 0 && starting(e.ObjectOld) && !starting(e.ObjectNew)
		},
	}
}
