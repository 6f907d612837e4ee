// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogrecipe

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/initiallist"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

// Name names the controller in logs and metrics.
const Name = "catalogrecipe"

// indexSigner finds recipes by the publishers that their signatures name.
const indexSigner = "signer"

// concurrency is how many recipes are checked at a time. Each check is one
// request of some milliseconds, and the first seed creates all recipes at once.
const concurrency = 4

// CacheOptions limit the cache of the catalog to the namespace that it is in.
func CacheOptions(namespace string) map[client.Object]cache.ByObject {
	own := cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	return map[client.Object]cache.ByObject{
		&v1alpha1.CatalogRecipe{}:    own,
		&v1alpha1.CatalogPublisher{}: own,
	}
}

// Setup adds the controller to m, whose cache must have the CacheOptions.
func (r *Reconciler) Setup(ctx context.Context, m ctrl.Manager) error {
	if err := m.GetFieldIndexer().IndexField(ctx, &v1alpha1.CatalogRecipe{}, indexSigner, signers); err != nil {
		return fmt.Errorf("index recipes by %s: %w", indexSigner, err)
	}
	err := ctrl.NewControllerManagedBy(m).
		Named(Name).
		For(&v1alpha1.CatalogRecipe{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.CatalogPublisher{}, handler.EnqueueRequestsFromMapFunc(r.recipesOf), initiallist.Skip(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			EnableWarmup:            new(true), // A new leader takes over with caches that are filled.
			SkipNameValidation:      new(true), // One test process runs several managers, one after the other.
		}).
		Complete(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return fmt.Errorf("build controller %s: %w", Name, err)
	}
	return nil
}

func signers(o client.Object) []string { return validate.Signers(o.(*v1alpha1.CatalogRecipe)) }

// recipesOf returns the recipes with a version that the publisher signed: a key
// that is added or removed changes their verdict.
func (r *Reconciler) recipesOf(ctx context.Context, publisher client.Object) []reconcile.Request {
	var list v1alpha1.CatalogRecipeList
	err := r.Client.List(ctx, &list, client.InNamespace(publisher.GetNamespace()), client.MatchingFields{indexSigner: publisher.GetName()})
	if err != nil {
		return nil // A read from a cache fails only when the process ends.
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}
