// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// TestWhatRunsStaysWhenTheCatalogLosesIt holds each way by which a recipe can be
// gone against each by which it was withdrawn.
func TestWhatRunsStaysWhenTheCatalogLosesIt(t *testing.T) {
	served := accepted(t, notes())
	was := Bridge(effective.Of(bridge(named("mine"))), catalogOf(served))
	newer := notes(func(r *recipe.Recipe) { r.RecipeVersion = "1.1.0" })
	anew := served.DeepCopy()
	anew.Status = v1alpha1.CatalogRecipeStatus{}
	forgotten := accepted(t, notes(), newer)
	forgotten.Status.Versions = forgotten.Status.Versions[:1]
	withdrawn := served.DeepCopy()
	withdrawn.Status.Versions[0].Withdrawn = true
	deleted := served.DeepCopy()
	deleted.Spec.Recipe, deleted.Spec.Deleted = nil, new(metav1.Now())
	both := withdrawn.DeepCopy()
	both.Spec = deleted.Spec
	takenBack := served.DeepCopy()
	takenBack.Spec.Recipe = nil
	overlay := by(&v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Name: "notes"}}, "another", "")
	local := accepted(t, notes(), notes(func(r *recipe.Recipe) { r.RecipeVersion, r.LocalOnly.All = "1.1.0", true }))
	for name, tt := range map[string]struct {
		o      *v1alpha1.CatalogRecipe
		server v1alpha1.Server
		reason string
	}{
		"it was deleted":                                          {nil, named("mine"), v1alpha1.ReasonRecipeKept},
		"it was deleted, and is pinned now":                       {nil, named("mine", version("1.0.0")), v1alpha1.ReasonRecipeKept},
		"it was made anew and waits for its verdict":              {anew, named("mine"), v1alpha1.ReasonRecipeKept},
		"its pinned version was one too many":                     {forgotten, named("mine", version("1.0.0")), v1alpha1.ReasonRecipeKept},
		"it was deleted, and another version is wanted":           {nil, named("mine", version("1.1.0")), v1alpha1.ReasonRecipeNotFound},
		"another server names it":                                 {nil, named("other"), v1alpha1.ReasonRecipeNotFound},
		"the server names another recipe":                         {nil, named("mine", func(s *v1alpha1.Server) { s.Recipe.Name = "paper" }), v1alpha1.ReasonRecipeNotFound},
		"it was deleted, and an overlay is there":                 {overlay, named("mine"), v1alpha1.ReasonRecipeKept},
		"its publisher deleted it":                                {deleted, named("mine"), v1alpha1.ReasonRecipeKept},
		"its publisher deleted it, and it is pinned now":          {deleted, named("mine", version("1.0.0")), v1alpha1.ReasonRecipeKept},
		"its publisher deleted it, and another version is wanted": {deleted, named("mine", version("1.1.0")), v1alpha1.ReasonRecipeNotFound},
		"its publisher deleted it, and another server names it":   {deleted, named("other"), v1alpha1.ReasonRecipeNotFound},
		"its publisher deleted it, and it is withdrawn":           {both, named("mine"), v1alpha1.ReasonRecipeNotAccepted},
		"an administrator took the recipe from below its overlay": {takenBack, named("mine"), v1alpha1.ReasonRecipeNotAccepted},
		"it is withdrawn":                                         {withdrawn, named("mine"), v1alpha1.ReasonRecipeNotAccepted},
		"its new version is local":                                {local, named("mine"), v1alpha1.ReasonRecipeLocalOnly},
		"it was deleted, and a secret is not granted any more": {nil, named("mine", func(s *v1alpha1.Server) { s.Secrets = []v1alpha1.SecretName{"NOTES_LANG"} }),
			v1alpha1.ReasonRecipeSecretNotGranted},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge(tt.server)
			b.Status = *was.Status.DeepCopy()
			got := Bridge(effective.Of(b), catalogOf(tt.o))
			expect(t, got.Status.Recipes[0], tt.reason, "")
			if tt.reason != v1alpha1.ReasonRecipeKept {
				return
			}
			if diff := cmp.Diff(bridgestate.Servers(was)[0].Program, bridgestate.Servers(got)[0].Program); diff != "" {
				t.Errorf("the server (-before +after):\n%s", diff)
			}
			again := bridge(tt.server)
			again.Status = got.Status
			if diff := cmp.Diff(got, Bridge(effective.Of(again), catalogOf(tt.o))); diff != "" {
				t.Errorf("decided again (-first +second):\n%s", diff)
			}
		})
	}
}

func TestAVerdictThatIsNotAboutWhatIsServedChangesNothing(t *testing.T) {
	o := accepted(t, notes())
	// The author writes another recipe, which is refused, and takes that back:
	// the verdict is still the one on the other.
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: catalogtest.Stored(t, notes(func(r *recipe.Recipe) { r.RecipeVersion = "0.9.0" }))}
	o.Generation++
	verdictOn(o, metav1.ConditionFalse, "recipeVersion: must be higher")
	expect(t, Bridge(effective.Of(bridge(named("mine"))), catalogOf(o)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.0")
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: catalogtest.Stored(t, notes())}
	o.Generation++
	expect(t, Bridge(effective.Of(bridge(named("mine"))), catalogOf(o)).Status.Recipes[0], v1alpha1.ReasonRecipeInUse, "1.0.0")
}

func TestADeprecatedRecipeStillRuns(t *testing.T) {
	o := accepted(t, notes())
	o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: metav1.NewTime(start), Reason: "its service ends", ReplacedBy: "paper"}
	got := Bridge(effective.Of(bridge(named("mine"))), catalogOf(o))
	expect(t, got.Status.Recipes[0], v1alpha1.ReasonRecipeDeprecated, "deprecated since 2026-01-02: its service ends; use recipe paper instead")
	if len(bridgestate.Servers(got)) == 0 {
		t.Error("it does not run")
	}
}

func TestABridgeWithoutRecipesIsLeftAlone(t *testing.T) {
	b := bridge(v1alpha1.Server{Name: "a", Transport: v1alpha1.Transport{URL: "https://a"}})
	if got := Bridge(effective.Of(b), Catalog{}); got.HostedBridge != b {
		t.Errorf("got %+v", got)
	}
	b.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "a", Recipe: "notes"}}
	if got := Bridge(effective.Of(b), Catalog{}); len(got.Status.Recipes) != 0 || len(b.Status.Recipes) != 1 {
		t.Errorf("a server that has no recipe any more: %+v", got.Status.Recipes)
	}
}
