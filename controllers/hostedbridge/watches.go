// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// eventMapper maps events of other objects to the HostedBridges that they concern.
type eventMapper struct {
	client   client.Reader
	clock    clock.PassiveClock
	settings Settings
}

// bridgeOfPod maps a pod to its HostedBridge.
func (m eventMapper) bridgeOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	user := pod.GetAnnotations()[v1alpha1.AnnotationUserID]
	return m.requests(ctx, client.InNamespace(pod.GetNamespace()), client.MatchingFields{indexPerson: user})
}

// bridgesOfSameUser maps a HostedBridge to all with the same user id: when it
// is created or deleted, the owner of the id is decided again.
func (m eventMapper) bridgesOfSameUser(ctx context.Context, o client.Object) []reconcile.Request {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	return m.requests(ctx, client.MatchingFields{indexPerson: string(b.User())})
}

// everyBridge maps an event to all HostedBridges, because all depend on its
// object: the keybroker's certificate, and whether a keybroker is ready.
func (m eventMapper) everyBridge(ctx context.Context, _ client.Object) []reconcile.Request {
	return m.requests(ctx)
}

func (m eventMapper) requests(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	var list v1alpha1.HostedBridgeList
	if err := m.client.List(ctx, &list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
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

// podChanged passes a pod if observedPod would return another result for it.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || !reflect.DeepEqual(observedPod(before), observedPod(after)) || ended(before) != ended(after)
	}}
}

// claimChanged passes a HostedBridge that is created or deleted. Deletion
// begins with the deletion timestamp.
func claimChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// trustChanged passes the ConfigMap with the keybroker's certificate when the
// certificate changed.
func (m eventMapper) trustChanged() predicate.Predicate {
	trust := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == m.settings.Namespace && o.GetName() == trustName
	})
	return predicate.And(trust, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.ConfigMap)
		after, ok2 := e.ObjectNew.(*corev1.ConfigMap)
		return !ok || !ok2 || before.Data[trustKey] != after.Data[trustKey]
	}})
}

// secretsReported passes a HostedBridge whose reported secrets changed. Such a
// change leaves its generation as it is. A secret's new value and the
// re-wrapping of an installation do not pass, since no decision depends on them.
func secretsReported() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !reflect.DeepEqual(bridgestate.Report(effective.Of(before)), bridgestate.Report(effective.Of(after)))
	}}
}

// serversReported passes a HostedBridge if the states of its servers changed.
func serversReported() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !reflect.DeepEqual(before.Status.ServerStates, after.Status.ServerStates)
	}}
}

var _ reconcile.ObjectReconciler[*v1alpha1.HostedBridge] = (*Reconciler)(nil)
