// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// bridgesOfSecret maps a Secret to the HostedBridges that depend on it. It goes
// by name: a Secret of an earlier bridge of the same name can block the new
// one.
func (r *Reconciler) bridgesOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(secret.GetNamespace()), client.MatchingFields{indexSecret: secret.GetName()})
}

// watchKeys enqueues every bridge when the master key has changed, behind
// requests that users wait for.
func (r *Reconciler) watchKeys(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changed := r.Keys.Changed()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			changed = r.Keys.Changed() // Before the caller reads the keys.
			addLast(queue, r.requests(ctx))
		}
	}()
	return nil
}

func addLast(queue workqueue.TypedRateLimitingInterface[reconcile.Request], requests []reconcile.Request) {
	if q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, requests...)
		return
	}
	for _, request := range requests {
		queue.Add(request)
	}
}

func (r *Reconciler) requests(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	var list v1alpha1.HostedBridgeList
	if err := r.Client.List(ctx, &list, which...); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list HostedBridges to reconcile")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// specOrReportChanged passes a changed spec, changed resolved recipes, and a
// changed report. The report is compared with the cache before it is written,
// so a change that the cache did not have yet must pass here.
func specOrReportChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || before.Generation != after.Generation || before.UID != after.UID ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(before.Status.Recipes, after.Status.Recipes) ||
			!equality.Semantic.DeepEqual(before.Status.Effective, after.Status.Effective) ||
			!equality.Semantic.DeepEqual(before.Status.KeyVersion, after.Status.KeyVersion) ||
			!equality.Semantic.DeepEqual(before.Status.Secrets, after.Status.Secrets)
	}}
}

// secretChanged passes a Secret with a new version, and not a resync, which
// brings nothing new.
func secretChanged() predicate.Predicate { return predicate.ResourceVersionChangedPredicate{} }

var _ reconcile.Reconciler = (*Reconciler)(nil)
