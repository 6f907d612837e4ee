// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeperson

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
	"github.com/hostedbridge/hostedbridge/internal/access"
)

// Name names the controller in logs, metrics and events.
const Name = "bridgeperson"

// Setup adds the controller to m, whose cache has the BridgePersons of the installation.
func (r *Reconciler) Setup(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.BridgePerson{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Watches(&v1alpha1.HostedBridge{}, handler.EnqueueRequestsFromMapFunc(r.leavingPeople), initiallist.Skip(bridgeLeft())).
		WithOptions(controller.Options{EnableWarmup: new(true), SkipNameValidation: new(true)}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

// leavingPeople maps a bridge to the people without access that may use it, or could
// before it was deleted.
func (r *Reconciler) leavingPeople(ctx context.Context, o client.Object) []reconcile.Request {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	var list v1alpha1.BridgePersonList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list BridgePersons of a HostedBridge")
		return nil
	}
	if !slices.ContainsFunc(list.Items, func(p v1alpha1.BridgePerson) bool { return !isSettled(&p) }) {
		return nil
	}
	people := access.NewPeople(list.Items)
	var requests []reconcile.Request
	for i := range list.Items {
		if p := &list.Items[i]; !isSettled(p) && people.Owns(p, b) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
	}
	return requests
}

// bridgeLeft passes a HostedBridge if a person's status may say something else of it.
func bridgeLeft() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.HostedBridge)
		after, ok2 := e.ObjectNew.(*v1alpha1.HostedBridge)
		return !ok || !ok2 || before.Generation != after.Generation || before.Status.Phase != after.Status.Phase ||
			!equality.Semantic.DeepEqual(before.Status.Access, after.Status.Access) ||
			!equality.Semantic.DeepEqual(before.Status.Secrets, after.Status.Secrets)
	}}
}
