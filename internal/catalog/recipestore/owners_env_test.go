// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	seederApplies    = v1alpha1.FieldOwnerSeeder + " Apply"
	publisherApplies = v1alpha1.FieldOwnerPublisher + " Apply"
	adminApplies     = v1alpha1.FieldOwnerAdmin + " Apply"
	adminUpdates     = v1alpha1.FieldOwnerAdmin + " Update"
)

func (f *fixture) seed(changes ...catalog.Change) error {
	return f.ApplySeed(f.t.Context(), changes, false)
}

func (f *fixture) mustSeed(changes ...catalog.Change) {
	f.t.Helper()
	must.Succeed(f.t, f.seed(changes...))
}

// publisher makes publishers.
func (f *fixture) make(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		must.Values(f.CreatePublisher(f.t.Context(), catalog.Publisher{ID: id}, nil))(f.t)
	}
}

func TestASeedLeavesTheOverlay(t *testing.T) {
	f := start(t)
	f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Create, Recipe: valid("notes")})
	overlay := catalog.Overlay{Verified: new(true), Score: new(90), Badge: "gold"}
	if _, created, err := f.SetQuality(t.Context(), "notes", overlay, "", false); err != nil || !created {
		t.Fatalf("%t, %v", created, err)
	}
	expectHeld(t, f.object("notes"), map[string][]string{seederApplies: {"recipe", "owner"}, adminApplies: {"quality"}})

	next := valid("notes")
	next.RecipeVersion, next.Metadata.License = "1.1.0", ""
	f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Update, Recipe: next})
	e := f.read("notes")
	if !catalog.Same(e.Recipe, next) || e.Quality == nil || *e.Quality.Score != 90 {
		t.Errorf("after a seed: %+v", e)
	}
	expectHeld(t, f.object("notes"), map[string][]string{seederApplies: {"recipe", "owner"}, adminApplies: {"quality"}})

	// The next overlay is the whole overlay, and touches nothing else.
	if e, created, err := f.SetQuality(t.Context(), "notes", catalog.Overlay{Notes: "fine"}, e.Revision, false); err != nil || created || e.Quality.Score != nil || !catalog.Same(e.Recipe, next) {
		t.Errorf("%+v, %t, %v", e, created, err)
	}
	if err := f.ClearQuality(t.Context(), "notes"); err != nil {
		t.Error(err)
	}
	if e := f.read("notes"); e.Quality != nil || !catalog.Same(e.Recipe, next) {
		t.Errorf("after the overlay went: %+v", e)
	}
	expectHeld(t, f.object("notes"), map[string][]string{seederApplies: {"recipe", "owner"}})
	if err := f.ClearQuality(t.Context(), "notes"); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestASeedDeprecatesAndTakesThatBack(t *testing.T) {
	f := start(t)
	f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Create, Recipe: valid("notes")})
	gone := catalog.Change{Name: "notes", Kind: catalog.Deprecate, Reason: catalog.ReasonVanished}
	f.mustSeed(gone)
	e := f.read("notes")
	if e.Deprecated == nil || e.Deprecated.Reason != catalog.ReasonVanished || !catalog.Same(e.Recipe, valid("notes")) {
		t.Errorf("%+v", e)
	}
	version := f.object("notes").ResourceVersion
	f.mustSeed(gone)
	if f.object("notes").ResourceVersion != version {
		t.Error("it was deprecated twice")
	}
	f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Update, Recipe: valid("notes")})
	if e = f.read("notes"); e.Deprecated != nil {
		t.Errorf("%+v", e)
	}
	f.mustSeed(catalog.Change{Name: "none", Kind: catalog.Deprecate, Reason: catalog.ReasonVanished})
}

// TestASecondSeedWritesNothing is of two replicas that seed at once, both of
// which believe that there is nothing yet.
func TestASecondSeedWritesNothing(t *testing.T) {
	f := start(t)
	var changes []catalog.Change
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		changes = append(changes, catalog.Change{Name: name, Kind: catalog.Create, Recipe: valid(name)})
	}
	other := startIn(t, ingressConfig(), f.namespace)
	ended := make(chan error)
	go func() { ended <- other.ApplySeed(t.Context(), changes, false) }()
	err := f.seed(changes...)
	must.Succeed(t, errors.Join(err, <-ended))
	for _, kind := range []catalog.ChangeKind{catalog.Create, catalog.Update, catalog.None} {
		versions := map[string]string{}
		for i := range changes {
			changes[i].Kind = kind
			o := f.object(changes[i].Name)
			if versions[o.Name] = o.ResourceVersion; o.Generation != 1 {
				t.Errorf("%s has generation %d", o.Name, o.Generation)
			}
		}
		f.mustSeed(changes...)
		for name, version := range versions {
			if f.object(name).ResourceVersion != version {
				t.Errorf("%s was written", name)
			}
		}
	}
}

func TestASeedTakesNothingFromOthers(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("published")))
	applied := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "applied"}}
	applied.Spec.Recipe = &v1alpha1.Recipe{Recipe: valid("applied")}
	testenv.ExpectApplied(t, f.api, applied)
	f.mustSeed(catalog.Change{Name: "edited", Kind: catalog.Create, Recipe: valid("edited")})
	f.kubectl("edited", func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.Description = "Else" })

	err := f.seed(
		catalog.Change{Name: "published", Kind: catalog.Create, Recipe: valid("published")},
		catalog.Change{Name: "applied", Kind: catalog.Update, Recipe: valid("applied")},
		catalog.Change{Name: "edited", Kind: catalog.Update, Recipe: valid("edited")},
		catalog.Change{Name: "good", Kind: catalog.Create, Recipe: valid("good")},
	)
	var failed catalog.ChangeErrors
	if !errors.As(err, &failed) || len(failed) != 3 {
		t.Fatalf("got %v", err)
	}
	var managed *catalog.ManagedError
	if !errors.Is(failed[0], catalog.ErrNotOwner) || failed[0].Name != "applied" || !errors.As(failed[1], &managed) || !errors.Is(failed[2], catalog.ErrNotOwner) {
		t.Errorf("got %v", err)
	}
	if f.read("published").Owner != "acme" || f.read("applied").Owner != "" || f.read("good").Owner != catalog.SeedOwner {
		t.Error("the wrong owners")
	}
}

// TestAfterATransferTheNewOwnerReplacesAll gives a recipe from one kind of
// writer to each other, and removes what only the former one had written.
func TestAfterATransferTheNewOwnerReplacesAll(t *testing.T) {
	rich := valid("notes")
	rich.Skill = &recipe.Skill{APIVersion: "v3"}
	rich.Auth = &recipe.Auth{Required: true, Type: "api-key", EnvVars: []string{"NOTES_TOKEN"}}
	poor := valid("notes")
	poor.RecipeVersion, poor.Metadata = "2.0.0", recipe.Metadata{}

	for name, write := range map[string]func(*fixture){
		"seeded": func(f *fixture) {
			f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Create, Recipe: rich})
			f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Deprecate, Reason: catalog.ReasonVanished})
		},
		"published": func(f *fixture) {
			d := draft("beta", rich)
			d.Deprecated = &catalog.Deprecation{Since: time.Now()}
			f.create(d)
		},
		"applied": func(f *fixture) {
			o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "notes", Annotations: map[string]string{"a": "b"}}}
			o.Spec.Recipe = &v1alpha1.Recipe{Recipe: rich}
			testenv.ExpectApplied(t, f.api, o)
		},
		"seeded and edited": func(f *fixture) {
			f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Create, Recipe: valid("notes")})
			f.kubectl("notes", func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe = &v1alpha1.Recipe{Recipe: rich} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.make("acme", "beta")
			write(f)
			must.Values(f.SetQuality(t.Context(), "notes", catalog.Overlay{Badge: "gold"}, "", false))(t)
			f.judge("notes")
			before := f.read("notes")

			e, err := f.SetOwner(t.Context(), "notes", "acme")
			if err != nil || e.Owner != "acme" || !catalog.Same(e.Recipe, before.Recipe) || e.Quality == nil || !e.Accepted {
				t.Fatalf("%v: %+v", err, e)
			}
			content := []string{"recipe"}
			if before.Deprecated != nil {
				content = append(content, "deprecated")
			}
			expectHeld(t, f.object("notes"), map[string][]string{publisherApplies: content, adminApplies: {"quality"}, adminUpdates: {"owner"}})

			if e, err = f.UpdateRecipe(t.Context(), put(draft("acme", poor), e.Revision, false)); err != nil {
				t.Fatal(err)
			}
			if o := f.object("notes"); o.Spec.Recipe.Skill != nil || o.Spec.Recipe.Auth != nil || !reflect.ValueOf(o.Spec.Recipe.Metadata).IsZero() || o.Spec.Deprecated != nil {
				t.Errorf("what the former owner wrote stays: %+v", o.Spec)
			}
			if e = f.read("notes"); e.Pending == nil || !catalog.Same(*e.Pending, poor) || e.Quality == nil || e.Owner != "acme" {
				t.Errorf("%+v", e)
			}
			expectHeld(t, f.object("notes"), map[string][]string{publisherApplies: {"recipe", "owner"}, adminApplies: {"quality"}, adminUpdates: {"owner"}})

			// And to the seeder, who replaces all of that.
			if _, err = f.SetOwner(t.Context(), "notes", catalog.SeedOwner); err != nil {
				t.Fatal(err)
			}
			if _, err = f.UpdateRecipe(t.Context(), put(draft("acme", poor), catalog.AnyRevision, false)); !errors.Is(err, catalog.ErrNotOwner) {
				t.Errorf("the former owner writes: %v", err)
			}
			f.mustSeed(catalog.Change{Name: "notes", Kind: catalog.Update, Recipe: rich})
			expectHeld(t, f.object("notes"), map[string][]string{seederApplies: {"recipe", "owner"}, adminApplies: {"quality"}, adminUpdates: {"owner"}})
		})
	}
}

// TestATransferMendsWhatOtherToolsTook gives a recipe to whom it belongs.
func TestATransferMendsWhatOtherToolsTook(t *testing.T) {
	f := start(t)
	f.make("acme")
	f.create(draft("acme", valid("notes")))
	f.kubectl("notes", func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.Description = "Else" })
	must.Value(f.SetOwner(t.Context(), "notes", "acme"))(t)
	e, err := f.UpdateRecipe(t.Context(), put(draft("acme", valid("notes")), catalog.AnyRevision, false))
	if err != nil || e.Recipe.Description != "Keeps notes" {
		t.Errorf("%v: %+v", err, e)
	}
	expectHeld(t, f.object("notes"), map[string][]string{publisherApplies: {"recipe", "owner"}})
}

// TestOtherToolsAreToldOfTheOwner is what kubectl apply --server-side sees.
func TestOtherToolsAreToldOfTheOwner(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("notes")))
	mine := valid("notes")
	mine.Description = "Else"
	o := &v1alpha1.CatalogRecipe{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CatalogRecipe"},
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "notes"},
		Spec:       v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: mine}},
	}
	err := f.api.Patch(t.Context(), o, client.Apply, client.FieldOwner("kubectl")) //nolint:staticcheck // What kubectl sends.
	if by := conflictingManagers(err); !slices.Equal(by, []string{v1alpha1.FieldOwnerPublisher}) {
		t.Errorf("got %v", err)
	}
}
