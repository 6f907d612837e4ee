// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	bridgeac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
)

// withRecipes returns the bridge with the content of the recipes that it names.
func (r *Reconciler) withRecipes(ctx context.Context, b *v1alpha1.HostedBridge, claims []plan.Claim) (*v1alpha1.HostedBridge, error) {
	c := resolve.Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{}, Lacking: r.Settings.Lacking(), Tiers: r.Settings.Tiers, Claims: claims}
	for _, name := range resolve.Names(b) {
		o := &v1alpha1.CatalogRecipe{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Settings.CatalogNamespace, Name: name}, o, client.UnsafeDisableDeepCopy)
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
		&s.UID: ac.WithUID, &s.Owner: ac.WithOwner, &s.Place: ac.WithPlace,
	} {
		if *value != "" {
			with(*value)
		}
	}
	if s.Last != nil {
		ac.WithLast(lastConfiguration(*s.Last))
	}
	return ac
}

func lastConfiguration(s v1alpha1.LastRecipe) *bridgeac.LastRecipeApplyConfiguration {
	ac := bridgeac.LastRecipe().WithVersion(s.Version).WithDigest(s.Digest).WithSecrets(s.Secrets...)
	for value, with := range map[*string]func(string) *bridgeac.LastRecipeApplyConfiguration{
		&s.TokenSecret: ac.WithTokenSecret, &s.CredentialsURL: ac.WithCredentialsURL, &s.Source: ac.WithSource,
		&s.UID: ac.WithUID, &s.Owner: ac.WithOwner, &s.Place: ac.WithPlace,
	} {
		if *value != "" {
			with(*value)
		}
	}
	return ac
}

// The values of indexRecipe for a recipe: for bridges that follow its latest
// version, for those that pin a version, and for those that pin this version.
func followers(recipe string) string          { return recipe }
func pinners(recipe string) string            { return recipe + "@" }
func pinnersOf(recipe, version string) string { return recipe + "@" + version }

func recipeUses(b *v1alpha1.HostedBridge) []string {
	var uses []string
	for _, s := range b.WithEffective().Spec.Servers {
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
