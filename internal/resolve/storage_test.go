// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// keeping returns a version of the recipe whose program keeps a file in a volume.
func keeping(version, size string) recipe.Recipe {
	return notes(func(r *recipe.Recipe) {
		r.RecipeVersion = version
		r.Install.Storage = &recipe.Storage{Size: size, Paths: jsondoc.Ordered[string]{{Name: "NOTES_FILE", Value: "notes.db"}}}
	})
}

// tiered is catalogOf for an installation whose bridges may store 1Gi.
func tiered(o *v1alpha1.CatalogRecipe, claims ...bridgestate.Claim) Catalog {
	c := catalogOf(o)
	c.Tiers, c.Claims = quota.Tiers{"": {Storage: new(resource.MustParse("1Gi"))}}, claims
	return c
}

func TestARecipeGetsTheStorageThatItAsksForWithinTheTier(t *testing.T) {
	b := after(named("one"), tiered(accepted(t, keeping("1.0.0", "100Mi"))))
	expect(t, b.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "it keeps files in a volume of 100Mi at /data")
	s := bridgestate.Servers(effective.Of(b))[0]
	if s.Storage == nil || s.Storage.Size.String() != "100Mi" || s.Storage.MountPath != "/data" {
		t.Fatalf("storage = %+v", s.Storage)
	}
	if env := s.Program.Env; env[len(env)-1].Name != "NOTES_FILE" || env[len(env)-1].Value != "/data/notes.db" {
		t.Errorf("the program's variables are %+v", env)
	}

	b = after(named("one"), tiered(accepted(t, keeping("1.0.0", "2Gi"))))
	expect(t, b.Status.Recipes[0], v1alpha1.ReasonRecipeNotHostable, "2Gi are more than tier")

	// A version that asks for more than there is leaves the one that runs.
	b = after(named("one"), tiered(accepted(t, notes())), tiered(accepted(t, notes(), keeping("1.1.0", "2Gi"))))
	expect(t, b.Status.Recipes[0], v1alpha1.ReasonRecipeKept, "2Gi are more than tier")

	// The size of a volume that exists is not its author's to change.
	claim := bridgestate.Claim{Name: v1alpha1.ClaimName("alice", "one"), Size: resource.MustParse("100Mi")}
	b = after(named("one"), tiered(accepted(t, keeping("1.0.0", "100Mi"))), tiered(accepted(t, keeping("1.0.0", "100Mi"), keeping("1.1.0", "2Gi")), claim))
	expect(t, b.Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "")
	if size := bridgestate.SizeOf(*bridgestate.Servers(effective.Of(b))[0].Storage, &claim); size.String() != "100Mi" {
		t.Errorf("the volume has %s", &size)
	}
}
