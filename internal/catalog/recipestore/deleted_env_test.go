// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestADeletedRecipeLeavesItsOwnerAndItsVersions(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	d := draft("acme", valid("notes"))
	d.Deprecated = &catalog.Deprecation{Since: time.Now(), Reason: "old"}
	f.create(d)
	f.judge("notes")
	must.Values(f.SetQuality(ctx, "notes", catalog.Overlay{Verified: new(true)}, "", false))(t)
	must.Succeed(t, f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false))
	o := f.object("notes")
	if o.Spec.Recipe != nil || o.Spec.Deprecated != nil || o.Spec.Deleted == nil || o.Spec.Owner != "acme" || len(o.Status.Versions) != 1 {
		t.Errorf("%+v, %+v", o.Spec, o.Status.Versions)
	}
	expectHeld(t, o, map[string][]string{publisherApplies: {"owner", "deleted"}, adminApplies: {"quality"}})
	f.judge("notes")
	f.await("that it is not served", func() bool { _, served := f.Current().Get("notes"); return !served })

	for name, tt := range map[string]struct {
		act  func() error
		want error
	}{
		"another publisher":         {func() error { _, err := f.CreateRecipe(ctx, put(draft("beta", valid("notes")), "", false)); return err }, catalog.ErrExists},
		"an update":                 {func() error { _, err := f.UpdateRecipe(ctx, put(d, catalog.AnyRevision, false)); return err }, catalog.ErrNotFound},
		"deleted again":             {func() error { return f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false) }, catalog.ErrNotFound},
		"an overlay":                {func() error { _, _, err := f.SetQuality(ctx, "notes", catalog.Overlay{}, "", false); return err }, catalog.ErrNotFound},
		"a transfer":                {func() error { _, err := f.SetOwner(ctx, "notes", catalog.SeedOwner); return err }, catalog.ErrNotFound},
		"freed at another revision": {func() error { return f.DeleteRecipe(ctx, "notes", "x", false) }, catalog.ErrChanged},
	} {
		if err := tt.act(); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	seeded := catalog.Diff(nil, f.Current().Entries())
	if len(seeded) != 0 {
		t.Errorf("the seed touches it: %+v", seeded)
	}

	next := valid("notes")
	next.RecipeVersion, next.Description = "0.9.0", "Another program"
	f.create(draft("acme", next))
	if e := f.judge("notes"); e.Refused == "" || e.Pending == nil {
		t.Errorf("an older version is taken: %+v", e)
	}
	next.RecipeVersion = "1.1.0"
	must.Value(f.UpdateRecipe(ctx, put(draft("acme", next), catalog.AnyRevision, false)))(t)
	e := f.judge("notes")
	if !e.Accepted || e.Deleted != nil || len(e.Versions) != 2 || !catalog.Merge(e).Listing.AuditOutdated {
		t.Errorf("anew: %+v", e)
	}
	expectHeld(t, f.object("notes"), map[string][]string{publisherApplies: {"recipe", "owner"}, adminApplies: {"quality"}})
}

func TestWhatOtherToolsHoldKeepsARecipeFromBeingDeleted(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("notes")))
	f.kubectl("notes", func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.Skill = &recipe.Skill{APIVersion: "v3"} })
	var managed *catalog.ManagedError
	err := f.RetireRecipe(t.Context(), "notes", "acme", catalog.AnyRevision, false)
	if !errors.As(err, &managed) || !slices.Equal(managed.By, []string{"kubectl-edit"}) {
		t.Errorf("got %v", err)
	}
}

func TestTheAPITakesNoRecipeThatIsDeleted(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("notes")))
	o := f.object("notes")
	before := o.DeepCopy()
	o.Spec.Deleted = new(metav1.Now())
	if err := f.api.Patch(t.Context(), o, client.MergeFrom(before)); err == nil {
		t.Error("taken")
	}
	o = before.DeepCopy()
	o.Spec.Quality = &v1alpha1.QualityOverlay{RecipeDigest: "sha256:1"}
	if err := f.api.Patch(t.Context(), o, client.MergeFrom(before)); err == nil {
		t.Error("a digest that is none is taken")
	}
}

// TestAnOverlayNamesTheVersionThatIsServed has one version served and another
// one wait.
func TestAnOverlayNamesTheVersionThatIsServed(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	f.create(draft("acme", valid("notes")))
	seen := f.judge("notes")
	next := valid("notes")
	next.RecipeVersion = "1.1.0"
	must.Value(f.UpdateRecipe(ctx, put(draft("acme", next), seen.Revision, false)))(t)
	waiting := f.read("notes")
	e, _, err := f.SetQuality(ctx, "notes", catalog.Overlay{Verified: new(true)}, waiting.Revision, false)
	if err != nil || e.Quality.RecipeDigest != seen.Versions[0].Digest || catalog.Merge(e).Listing.AuditOutdated {
		t.Fatalf("%v: %+v", err, e)
	}
	if e = f.judge("notes"); !e.Accepted || !catalog.Merge(e).Listing.AuditOutdated {
		t.Errorf("the version that came counts as verified: %+v", e)
	}
	// What was seen when the other version was served is not what is there now.
	if _, _, err := f.SetQuality(ctx, "notes", catalog.Overlay{Verified: new(true)}, waiting.Revision, false); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("got %v", err)
	}
}
