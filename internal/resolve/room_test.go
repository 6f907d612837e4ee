// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// sized returns a version of the recipe that says about that much of its server.
func sized(version string, bytes int) recipe.Recipe {
	return notes(func(r *recipe.Recipe) {
		r.RecipeVersion = version
		r.Transports[0].Args = append(r.Transports[0].Args, strings.Repeat("x", bytes))
	})
}

// TestARecipeThatGrowsTakesNoOtherServerOut has nine servers of a recipe whose
// next version is too much for all of them, before one of another recipe.
func TestARecipeThatGrowsTakesNoOtherServerOut(t *testing.T) {
	small, large := sized("1.0.0", 10), sized("1.0.1", 7600)
	good := at("1.0.0", home)
	good.ID = "good"
	other := accepted(t, good)
	catalogWith := func(o *v1alpha1.CatalogRecipe) Catalog {
		return Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{"notes": o, "good": other}}
	}
	var servers []v1alpha1.Server
	for i := range 9 {
		servers = append(servers, named(fmt.Sprintf("s%d", i)))
	}
	servers = append(servers, v1alpha1.Server{Name: "good", Recipe: &v1alpha1.RecipeReference{Name: "good"}})
	was := Bridge(effective.Of(bridge(servers...)), catalogWith(accepted(t, small)))
	step := func(c Catalog, servers ...v1alpha1.Server) *v1alpha1.HostedBridge {
		next := bridge(servers...)
		next.Status = was.Status
		was = Bridge(effective.Of(next), c)
		size := 0
		for _, s := range was.Status.Recipes {
			size += stored(s)
		}
		if size > bridgeLimit {
			t.Fatalf("the bridge holds %d bytes", size)
		}
		return was.HostedBridge
	}
	grown := catalogWith(accepted(t, small, large))
	for range 2 {
		got := step(grown, servers...)
		for i, s := range got.Status.Recipes[:8] {
			if i < 7 && s.Version != "1.0.1" {
				t.Errorf("server %d does not have the new version: %s", i, s.Message)
			}
		}
		expect(t, got.Status.Recipes[8], v1alpha1.ReasonRecipeKept, "as much as a bridge holds; the server stays what version 1.0.0 says")
		expect(t, got.Status.Recipes[9], v1alpha1.ReasonRecipeInUse, "")
	}

	// Who asks for the version that does not fit gets none, and has the one before
	// again by asking for it.
	pinned := slices.Clone(servers)
	pinned[8] = named("s8", version("1.0.1"))
	expect(t, step(grown, pinned...).Status.Recipes[8], v1alpha1.ReasonRecipeNotHostable, "as much as a bridge holds")
	expect(t, step(grown, servers...).Status.Recipes[8], v1alpha1.ReasonRecipeKept, "")
	// It follows as soon as there is room.
	expect(t, step(grown, servers[2:]...).Status.Recipes[6], v1alpha1.ReasonRecipeInUse, "1.0.1")
}
