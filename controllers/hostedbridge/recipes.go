// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	bridgeac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
)

// withRecipes returns the bridge with what the recipes that it names say.
func (r *Reconciler) withRecipes(ctx context.Context, b *v1alpha1.HostedBridge) (*v1alpha1.HostedBridge, error) {
	c := resolve.Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{}, Lacking: r.Settings.Lacking()}
	for _, name := range resolve.Names(b) {
		o := &v1alpha1.CatalogRecipe{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Settings.CatalogNamespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get CatalogRecipe %s: %w", name, err)
		}
		c.Recipes[name] = o
	}
	return resolve.Bridge(b, c), nil
}

func recipeConfiguration(s v1alpha1.RecipeStatus) *bridgeac.RecipeStatusApplyConfiguration {
	ac := bridgeac.RecipeStatus().WithServer(s.Server).WithRecipe(s.Recipe).WithReason(s.Reason).WithSecrets(s.Secrets...)
	for value, with := range map[*string]func(string) *bridgeac.RecipeStatusApplyConfiguration{
		&s.Version: ac.WithVersion, &s.Digest: ac.WithDigest, &s.Message: ac.WithMessage,
		&s.TokenSecret: ac.WithTokenSecret, &s.CredentialsURL: ac.WithCredentialsURL, &s.Source: ac.WithSource,
	} {
		if *value != "" {
			with(*value)
		}
	}
	return ac
}

// The values of indexRecipe for a recipe: of those who follow its latest
// version, of those who pin one, and of those who pin this one.
func followers(recipe string) string          { return recipe }
func pinners(recipe string) string            { return recipe + "@" }
func pinnersOf(recipe, version string) string { return recipe + "@" + version }

func recipeUses(b *v1alpha1.HostedBridge) []string {
	var uses []string
	for _, s := range b.Spec.Servers {
		switch {
		case s.Recipe == nil:
		case s.Recipe.Version == "":
			uses = append(uses, followers(s.Recipe.Name))
		default:
			uses = append(uses, pinners(s.Recipe.Name), pinnersOf(s.Recipe.Name, s.Recipe.Version))
		}
	}
	return uses
}

// usersOfRecipe asks for the bridges that a recipe's change concerns, and for no
// others: a recipe may be named by thousands, most changes are a new version,
// and who pins an older one has nothing of it.
func (r *Reconciler) usersOfRecipe() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	ask := func(ctx context.Context, q queue, uses ...string) {
		for _, use := range uses {
			for _, request := range r.requests(ctx, client.MatchingFields{indexRecipe: use}) {
				q.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			ask(ctx, q, followers(e.Object.GetName()), pinners(e.Object.GetName()))
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*v1alpha1.CatalogRecipe)
			after, ok2 := e.ObjectNew.(*v1alpha1.CatalogRecipe)
			if ok && ok2 {
				ask(ctx, q, concerned(before, after)...)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			ask(ctx, q, followers(e.Object.GetName()), pinners(e.Object.GetName()))
		},
	}
}

// concerned returns whom a recipe's change concerns.
func concerned(before, after *v1alpha1.CatalogRecipe) []string {
	name := after.Name
	if before.UID != after.UID || !sameStanding(before, after) {
		return []string{followers(name), pinners(name)}
	}
	var uses []string
	if latest(before) != latest(after) {
		uses = append(uses, followers(name))
	}
	was, is := digests(before), digests(after)
	for version := range is {
		if was[version] != is[version] {
			uses = append(uses, pinnersOf(name, version))
		}
	}
	for version := range was {
		if _, there := is[version]; !there {
			uses = append(uses, pinnersOf(name, version))
		}
	}
	return uses
}

// sameStanding says that all versions are as good as they were. That a recipe
// was written anew does not concern anybody before the verdict on it.
func sameStanding(before, after *v1alpha1.CatalogRecipe) bool {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
	if (was == nil) != (is == nil) || was != nil && (was.Status != is.Status || was.Message != is.Message) {
		return false
	}
	return (before.Spec.Recipe == nil) == (after.Spec.Recipe == nil) &&
		equality.Semantic.DeepEqual(before.Spec.Deprecated, after.Spec.Deprecated)
}

func latest(o *v1alpha1.CatalogRecipe) string {
	if len(o.Status.Versions) == 0 {
		return ""
	}
	return o.Status.Versions[0].Digest
}

func digests(o *v1alpha1.CatalogRecipe) map[string]string {
	all := make(map[string]string, len(o.Status.Versions))
	for _, v := range o.Status.Versions {
		all[v.Version] = v.Digest
	}
	return all
}
