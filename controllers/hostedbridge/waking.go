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
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// isWaking is the one value of indexWaking.
const isWaking = "true"

// waking returns whether it is the turn of b, where that is asked.
func (r *Reconciler) waking(ctx context.Context, b *v1alpha1.HostedBridge, now time.Time) (plan.Waking, error) {
	w := plan.Waking{Limit: r.Settings.MaxWaking}
	if w.Limit == 0 || !b.Woken() {
		return w, nil
	}
	others, err := r.allWaking(ctx)
	w.Ahead = plan.Ahead(b, others, now)
	return w, err
}

// allWaking returns the bridges that wake. They are the cache's own: in a storm
// each of a thousand looks at all of them.
func (r *Reconciler) allWaking(ctx context.Context) ([]v1alpha1.HostedBridge, error) {
	var list v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &list, client.MatchingFields{indexWaking: isWaking}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list HostedBridges that wake: %w", err)
	}
	return list.Items, nil
}

// nextInQueue maps a bridge that starts no more to those whose turn it may be.
func (r *Reconciler) nextInQueue(ctx context.Context, _ client.Object) []reconcile.Request {
	list, err := r.allWaking(ctx)
	if err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "find who wakes next")
		return nil
	}
	queue := make([]*v1alpha1.HostedBridge, 0, len(list))
	for i := range list {
		if plan.InQueue(&list[i]) {
			queue = append(queue, &list[i])
		}
	}
	slices.SortFunc(queue, plan.CompareTurns)
	queue = queue[:min(len(queue), r.Settings.MaxWaking)]
	requests := make([]reconcile.Request, len(queue))
	for i, b := range queue {
		requests[i].NamespacedName = client.ObjectKeyFromObject(b)
	}
	return requests
}

// woken passes a HostedBridge that has been called while it slept. That it is
// used while it runs is looked at when it might fall asleep, and else wakes
// nobody.
func woken() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !before.Woken() && after.Woken()
	}}
}

// started passes a HostedBridge that was starting because it was called, and is
// not any more.
func (r *Reconciler) started() predicate.Predicate {
	starting := func(o client.Object) bool {
		b, ok := o.(*v1alpha1.HostedBridge)
		return ok && plan.Starting(b, r.Clock.Now())
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return starting(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return r.Settings.MaxWaking > 0 && starting(e.ObjectOld) && !starting(e.ObjectNew)
		},
	}
}
