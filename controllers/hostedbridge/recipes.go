// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
)

// withRecipes returns the bridge with the content of the recipes that it names.
func withRecipes(
	ctx context.Context, c client.Reader, s Settings, b *effective.Bridge, claims []bridgestate.Claim,
) (*effective.Bridge, error) {
	catalog := resolve.Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{}, Lacking: s.Lacking(), Tiers: s.Tiers, Claims: claims}
	for _, name := range resolve.Names(b) {
		o := &v1alpha1.CatalogRecipe{}
		err := c.Get(ctx, client.ObjectKey{Namespace: s.CatalogNamespace, Name: name}, o, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get CatalogRecipe %s: %w", name, err)
		}
		catalog.Recipes[name] = o
	}
	return resolve.Bridge(b, catalog), nil
}

// The values of indexRecipe for a recipe: for bridges that follow its latest
// version, for those that pin a version, and for those that pin this version.
func followers(recipe string) string          { return recipe }
func pinners(recipe string) string            { return recipe + "@" }
func pinnersOf(recipe, version string) string { return recipe + "@" + version }

func recipeUses(b *v1alpha1.HostedBridge) []string {
	var uses []string
	for _, s := range effective.Of(b).Spec.Servers {
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
