// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// Name names the controller in logs, metrics and events.
const Name = "bridgeprofile"

// CacheOptions limit what is held in memory to the profiles, people and requests of the
// installation's namespace.
func CacheOptions(namespace string) map[client.Object]cache.ByObject {
	own := cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	return map[client.Object]cache.ByObject{&v1alpha1.BridgeProfile{}: own, &v1alpha1.BridgePerson{}: own, &v1alpha1.SharedServer{}: own, &v1alpha1.BridgeRequest{}: own}
}

// Setup adds the controller to m, whose cache must have the CacheOptions.
func (r *Reconciler) Setup(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.BridgeProfile{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&v1alpha1.HostedBridge{}, r.enqueueAll(), initiallist.Skip(countedChanged())).
		Watches(&v1alpha1.BridgePerson{}, r.enqueueAll(), initiallist.Skip(predicate.ResourceVersionChangedPredicate{})).
		Watches(&v1alpha1.SharedServer{}, r.enqueueAll(), initiallist.Skip(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.CatalogRecipe{}, r.enqueueAll(), initiallist.Skip(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{EnableWarmup: new(true), SkipNameValidation: new(true)}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

// enqueueAll enqueues all profiles, after a time in which further changes add nothing.
func (r *Reconciler) enqueueAll() handler.EventHandler {
	add := func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		var list v1alpha1.BridgeProfileList
		if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			// A read of a filled cache fails only when the process ends.
			log.FromContext(ctx).Error(err, "list BridgeProfiles")
			return
		}
		for i := range list.Items {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}, settle)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
	}
}

// countedChanged passes a HostedBridge if a profile could count it otherwise than before.
func countedChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || !bridgestate.SamePeople(&before.Status, &after.Status) ||
			!equality.Semantic.DeepEqual(before.Spec.Groups, after.Spec.Groups) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	}}
}

var _ reconcile.ObjectReconciler[*v1alpha1.BridgeProfile] = (*Reconciler)(nil)
