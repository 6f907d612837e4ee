// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Name names the controller in logs, metrics and events.
const Name = "programbundle"

// CacheOptions limit the cache to the objects of the installation's namespace.
func CacheOptions(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.ProgramBundle{}: {UnsafeDisableDeepCopy: new(true), Namespaces: map[string]cache.Config{namespace: {}}},
		&batchv1.Job{}: {UnsafeDisableDeepCopy: new(true), Namespaces: map[string]cache.Config{namespace: {
			LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: bridgeobjects.ComponentBundler}),
		}}},
	}
}

// Setup adds the controller to m, whose cache has the CacheOptions.
func (r *Reconciler) Setup(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.ProgramBundle{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Owns(&batchv1.Job{}, initiallist.Skip()).
		Watches(&v1alpha1.HostedBridge{}, handler.EnqueueRequestsFromMapFunc(r.bundlesOf), initiallist.Skip(packagesChanged())).
		WithOptions(controller.Options{EnableWarmup: new(true), SkipNameValidation: new(true)}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

// bundlesOf maps a HostedBridge to the bundles of its packages.
func (r *Reconciler) bundlesOf(ctx context.Context, o client.Object) []reconcile.Request {
	packages := packagesOf(o)
	if len(packages) == 0 {
		return nil
	}
	var list v1alpha1.ProgramBundleList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Settings.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list ProgramBundles of a HostedBridge")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if b := &list.Items[i]; slices.Contains(packages, bundling.KeyOf(b.Spec.Install)) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	return requests
}

func packagesOf(o client.Object) []string {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	return bundling.Packages(effective.Of(b))
}

// packagesChanged passes a HostedBridge whose packages changed.
func packagesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(packagesOf(e.ObjectOld), packagesOf(e.ObjectNew))
	}}
}
