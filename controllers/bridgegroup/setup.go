// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgegroup

import (
	"context"
	"fmt"
	"slices"

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
	"github.com/hostedbridge/hostedbridge/internal/access"
)

// Name names the controller in logs, metrics and events.
const Name = "bridgegroup"

// indexMembers finds BridgeGroups by the id of a member.
const indexMembers = "spec.members"

// concurrency is how many people are reconciled at a time: a group of 10,000 that a profile
// begins to name is one write for each of them.
const concurrency = 4

// CacheOptions limit what is held in memory to the groups of the installation's namespace.
func CacheOptions(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&v1alpha1.BridgeGroup{}: {
		Namespaces: map[string]cache.Config{namespace: {}}, Transform: cache.TransformStripManagedFields(),
	}}
}

// queue is that of the people to reconcile.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Setup adds the controller to m, whose cache must have the CacheOptions.
func (r *Reconciler) Setup(ctx context.Context, m ctrl.Manager) error {
	if err := m.GetFieldIndexer().IndexField(ctx, &v1alpha1.BridgeGroup{}, indexMembers, membersOf); err != nil {
		return fmt.Errorf("index BridgeGroups: %w", err)
	}
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.BridgePerson{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.BridgeGroup{}, r.enqueueMembers(), initiallist.Skip()).
		Watches(&v1alpha1.BridgeProfile{}, handler.EnqueueRequestsFromMapFunc(r.everybody), initiallist.Skip(namesChanged())).
		Watches(&v1alpha1.SharedServer{}, handler.EnqueueRequestsFromMapFunc(r.everybody), initiallist.Skip(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, EnableWarmup: new(true), SkipNameValidation: new(true)}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

func membersOf(o client.Object) []string {
	if g, ok := o.(*v1alpha1.BridgeGroup); ok {
		return g.Spec.Members
	}
	return nil
}

// enqueueMembers enqueues the people whom a change of a group is about: those who came or
// went, or all members if the group is new, gone or called otherwise.
func (r *Reconciler) enqueueMembers() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { r.enqueue(q, membersOf(e.Object)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { r.enqueue(q, membersOf(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*v1alpha1.BridgeGroup)
			after, ok2 := e.ObjectNew.(*v1alpha1.BridgeGroup)
			if ok && ok2 {
				r.enqueue(q, concerned(before, after))
			}
		},
	}
}

// concerned returns the members of a group whose groups may have changed.
func concerned(before, after *v1alpha1.BridgeGroup) []string {
	if before.Spec.Value != after.Spec.Value {
		return append(slices.Clone(before.Spec.Members), after.Spec.Members...)
	}
	was, is := map[string]bool{}, map[string]bool{}
	for _, id := range before.Spec.Members {
		was[id] = true
	}
	var changed []string
	for _, id := range after.Spec.Members {
		if is[id] = true; !was[id] {
			changed = append(changed, id)
		}
	}
	for _, id := range before.Spec.Members {
		if !is[id] {
			changed = append(changed, id)
		}
	}
	return changed
}

func (r *Reconciler) enqueue(q queue, ids []string) {
	for _, id := range ids {
		if name, _, ok := access.ParseMemberID(id); ok {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: name}})
		}
	}
}

// everybody maps a profile or SharedServer to all people of directories: it may name other
// groups than before.
func (r *Reconciler) everybody(ctx context.Context, _ client.Object) []reconcile.Request {
	var list v1alpha1.BridgePersonList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list BridgePersons")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.Directory != nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// namesChanged passes a BridgeProfile that may name other groups than before.
func namesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgeProfile)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgeProfile)
		return !ok || !ok2 || !equality.Semantic.DeepEqual(before.Spec.Who.Groups, after.Spec.Who.Groups) ||
			!equality.Semantic.DeepEqual(before.Status.Revisions, after.Status.Revisions)
	}}
}

var _ reconcile.ObjectReconciler[*v1alpha1.BridgePerson] = (*Reconciler)(nil)
