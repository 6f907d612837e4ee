// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// bridgeOfPod maps a pod to its HostedBridge.
func (r *Reconciler) bridgeOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	uid := pod.GetAnnotations()[v1alpha1.AnnotationBridgeUID]
	return r.requests(ctx, client.InNamespace(pod.GetNamespace()), client.MatchingFields{indexUID: uid})
}

// rivals maps a HostedBridge to all with the same user id: when it comes or
// goes, whose the id is must be decided anew.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	return r.requests(ctx, client.MatchingFields{indexUser: string(b.User())})
}

// everyBridge maps the keybroker's certificate to all who are given it, and
// whether one is ready to all whose conditions say so.
func (r *Reconciler) everyBridge(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.requests(ctx)
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

// podChanged passes what would be observed differently.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || observedPod(before) != observedPod(after) || ended(before) != ended(after)
	}}
}

// claimChanged passes a HostedBridge that comes or goes. Going begins with the
// wish to delete it.
func claimChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// trustChanged passes the ConfigMap with the keybroker's certificate when that
// is another.
func (r *Reconciler) trustChanged() predicate.Predicate {
	trust := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == r.Settings.Namespace && o.GetName() == trustName
	})
	return predicate.And(trust, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.ConfigMap)
		after, ok2 := e.ObjectNew.(*corev1.ConfigMap)
		return !ok || !ok2 || before.Data[trustKey] != after.Data[trustKey]
	}})
}

// secretsReported passes a HostedBridge of whose secrets the keybroker reports
// something else, which leaves its generation as it is. What no decision reads
// does not pass: a secret that is set to another value, and the re-wrapping of
// a whole installation, wake nobody.
func secretsReported() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !equality.Semantic.DeepEqual(plan.Report(before), plan.Report(after))
	}}
}

var _ reconcile.ObjectReconciler[*v1alpha1.HostedBridge] = (*Reconciler)(nil)
