// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// takeBack does what the documentation says, which is a field of the spec that
// is removed.
func (f *fixture) takeBack(name, field string) {
	f.t.Helper()
	patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/`+field+`"}]`))
	must.Succeed(f.t, f.api.Patch(f.t.Context(), f.object(name), patch))
	f.judge(name)
}

// TestWhatWasTakenBackStaysSo is of a recipe, and of one that its owner deleted.
func TestWhatWasTakenBackStaysSo(t *testing.T) {
	for field, deleted := range map[string]bool{"recipe": false, "deleted": true} {
		t.Run(field, func(t *testing.T) {
			f := start(t)
			ctx := t.Context()
			d := draft("acme", valid("notes"))
			f.create(d)
			f.judge("notes")
			if deleted {
				must.Succeed(t, f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false))
			}
			f.takeBack("notes", field)
			before := f.object("notes").ResourceVersion
			d.Recipe.RecipeVersion = "1.0.1"
			stolen := d
			stolen.Owner = "beta"
			for name, tt := range map[string]struct {
				act  func() error
				want error
			}{
				"an update":      {func() error { _, err := f.UpdateRecipe(ctx, put(d, catalog.AnyRevision, false)); return err }, catalog.ErrTakenBack},
				"a deletion":     {func() error { return f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false) }, catalog.ErrTakenBack},
				"made anew":      {func() error { _, err := f.CreateRecipe(ctx, put(d, "", false)); return err }, catalog.ErrTakenBack},
				"by another one": {func() error { _, err := f.CreateRecipe(ctx, put(stolen, "", false)); return err }, catalog.ErrExists},
			} {
				if err := tt.act(); !errors.Is(err, tt.want) {
					t.Errorf("%s: got %v, want %v", name, err, tt.want)
				}
			}
			if o := f.object("notes"); o.ResourceVersion != before {
				t.Errorf("it was written: %+v", o.Spec)
			}
			must.Succeed(t, f.DeleteRecipe(ctx, "notes", "", false))
			f.create(stolen)
		})
	}
}

// TestNobodyTakesANameThatWasTakenBackFromNobody has a recipe without an owner:
// who publishes under its name would have its users.
func TestNobodyTakesANameThatWasTakenBackFromNobody(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	applied := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "notes"}}
	applied.Spec.Recipe = &v1alpha1.Recipe{Recipe: valid("notes")}
	testenv.ExpectApplied(t, f.api, applied)
	f.judge("notes")
	f.takeBack("notes", "recipe")
	next := valid("notes")
	next.RecipeVersion = "1.0.1"
	if _, err := f.CreateRecipe(ctx, put(draft("acme", next), "", false)); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("a publisher: got %v", err)
	}
	changes := catalog.Diff([]catalog.Draft{{Name: "notes", Recipe: next}}, []catalog.Entry{f.read("notes")})
	if len(changes) != 1 || changes[0].Kind != catalog.None {
		t.Errorf("the seed: %+v", changes)
	}
	seeded := []catalog.Change{{Name: "notes", Kind: catalog.Create, Recipe: next}}
	if err := f.ApplySeed(ctx, seeded, false); !errors.Is(err, catalog.ErrNotOwner) {
		t.Errorf("a seed of what was there before: got %v", err)
	}
	if err := f.DeleteRecipe(ctx, "notes", "", false); err != nil {
		t.Errorf("freed: %v", err)
	}
}

// TestARecipeIsCreatedAfterWhatIsThere has a draft that looks at it.
func TestARecipeIsCreatedAfterWhatIsThere(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	d := draft("acme", valid("notes"))
	var seen []catalog.Entry
	looking := put(d, "", false)
	refused := errors.New("the draft is refused")
	var answer error
	looking.Draft = func(live catalog.Entry) (catalog.Draft, error) {
		seen = append(seen, live)
		return d, answer
	}
	must.Value(f.CreateRecipe(ctx, looking))(t)
	f.judge("notes")
	must.Succeed(t, f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false))
	answer = refused
	if _, err := f.CreateRecipe(ctx, looking); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if len(seen) != 2 || len(seen[0].Versions) != 0 || seen[1].Deleted == nil || len(seen[1].Versions) != 1 {
		t.Errorf("the draft sees %+v", seen)
	}
	if o := f.object("notes"); o.Spec.Recipe != nil {
		t.Errorf("written: %+v", o.Spec)
	}
}
