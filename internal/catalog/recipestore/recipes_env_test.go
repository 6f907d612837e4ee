// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestAWrittenRecipeIsShownAndServedOnceAccepted(t *testing.T) {
	f := start(t)
	before := f.Current()
	e := f.create(draft("acme", valid("notes")))
	if e.Accepted || e.Owner != "acme" || e.Revision == "" {
		t.Errorf("%+v", e)
	}
	f.await("the new recipe", func() bool { _, there := f.Current().Entry("notes"); return there })
	if _, served := f.Current().Get("notes"); served {
		t.Error("served before it was accepted")
	}
	f.judge("notes")
	f.await("the accepted recipe", func() bool { _, served := f.Current().Get("notes"); return served })
	f.SetPopularity(map[string]int64{"notes": 7})
	if f.Current().Popularity("notes") != 7 {
		t.Error("its popularity is not known")
	}

	must.Succeed(t, f.RetireRecipe(t.Context(), "notes", "acme", catalog.AnyRevision, false))
	f.await("that it is not served", func() bool { _, served := f.Current().Get("notes"); return !served })
	must.Succeed(t, f.DeleteRecipe(t.Context(), "notes", "", false))
	f.await("that it went", func() bool { _, there := f.Current().Entry("notes"); return !there })
	f.create(draft("acme", valid("other")))
	f.await("another one", func() bool { _, there := f.Current().Entry("other"); return there })
	if f.Current().Popularity("notes") != 7 || before.Len() != 0 {
		t.Error("a snapshot changed, or forgot the popularity")
	}
}

func TestARecipeThatCannotBeReadIsLeftOut(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("notes")))
	f.judge("notes")
	f.create(draft("acme", valid("other")))
	f.judge("other")
	f.await("both", func() bool { return f.Current().Len() == 2 })
	o := f.object("notes")
	testenv.ExpectStatusChanged(t, f.api, o, func() { o.Status.Versions[0].Recipe = "{" })
	f.await("the one that can be read", func() bool { return f.Current().Len() == 1 })
	again := startIn(t, ingressConfig(), f.namespace)
	if _, served := again.Current().Get("other"); !served || again.Current().Len() != 1 {
		t.Error("one that cannot be read keeps others back")
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	e, err := f.CreateRecipe(ctx, put(draft("acme", valid("notes")), "", true))
	if err != nil || e.Name != "notes" || e.Recipe.Name != "Notes" {
		t.Errorf("%+v, %v", e, err)
	}
	testenv.ExpectMissing(t, f.api, &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "notes"}})

	f.create(draft("acme", valid("notes")))
	version := f.object("notes").ResourceVersion
	other := valid("notes")
	other.Description = "Else"
	if e, err = f.UpdateRecipe(ctx, put(draft("acme", other), catalog.AnyRevision, true)); err != nil || e.Recipe.Description != "Else" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, created, err := f.SetQuality(ctx, "notes", catalog.Overlay{Badge: "gold"}, "", true); err != nil || !created || e.Quality == nil {
		t.Errorf("%+v, %t, %v", e, created, err)
	}
	if err := f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, true); err != nil {
		t.Error(err)
	}
	changes := []catalog.Change{{Name: "new", Kind: catalog.Create, Recipe: valid("new")}}
	if err := f.ApplySeed(ctx, changes, true); err != nil {
		t.Error(err)
	}
	testenv.ExpectMissing(t, f.api, &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "new"}})
	if f.object("notes").ResourceVersion != version {
		t.Error("a dry run wrote")
	}
}

func TestWhatIsRefusedIsNamedAndChangesNothing(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	mine := f.create(draft("acme", valid("notes")))
	seeded := []catalog.Change{{Name: "seeded", Kind: catalog.Create, Recipe: valid("seeded")}}
	must.Succeed(t, f.ApplySeed(ctx, seeded, false))
	applied := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "applied"}}
	applied.Spec.Recipe = &v1alpha1.Recipe{Recipe: valid("applied")}
	testenv.ExpectApplied(t, f.api, applied)
	tooLong := valid("long")
	tooLong.Name = strings.Repeat("n", 4096)
	wrongName := draft("acme", valid("one"))
	wrongName.Name = "another"

	create := func(d catalog.Draft) func() error {
		return func() error { _, err := f.CreateRecipe(ctx, put(d, "", false)); return err }
	}
	update := func(d catalog.Draft, ifMatch string) func() error {
		return func() error { _, err := f.UpdateRecipe(ctx, put(d, ifMatch, false)); return err }
	}
	quality := func(name, ifMatch string) func() error {
		return func() error { _, _, err := f.SetQuality(ctx, name, catalog.Overlay{}, ifMatch, false); return err }
	}
	remove := func(name, owner, ifMatch string) func() error {
		return func() error { return f.RetireRecipe(ctx, name, owner, ifMatch, false) }
	}
	give := func(name, owner string) func() error {
		return func() error { _, err := f.SetOwner(ctx, name, owner); return err }
	}
	before := map[string]string{}
	for _, name := range []string{"notes", "seeded", "applied"} {
		before[name] = f.object(name).ResourceVersion
	}
	for name, tt := range map[string]struct {
		act  func() error
		want error
	}{
		"a name of one's own, anew":           {create(draft("acme", valid("notes"))), catalog.ErrExists},
		"a name of another publisher":         {create(draft("beta", valid("notes"))), catalog.ErrExists},
		"a name that was seeded":              {create(draft("acme", valid("seeded"))), catalog.ErrExists},
		"a name that somebody applied":        {create(draft("acme", valid("applied"))), catalog.ErrExists},
		"an update of another's":              {update(draft("beta", valid("notes")), catalog.AnyRevision), catalog.ErrNotOwner},
		"an update of what was seeded":        {update(draft("acme", valid("seeded")), catalog.AnyRevision), catalog.ErrNotOwner},
		"an update of what was applied":       {update(draft("acme", valid("applied")), catalog.AnyRevision), catalog.ErrNotOwner},
		"an update of nothing":                {update(draft("acme", valid("none")), catalog.AnyRevision), catalog.ErrNotFound},
		"an update of another revision":       {update(draft("acme", valid("notes")), "0"+mine.Revision), catalog.ErrChanged},
		"an update of no revision":            {update(draft("acme", valid("notes")), ""), catalog.ErrChanged},
		"a removal of another's":              {remove("notes", "beta", catalog.AnyRevision), catalog.ErrNotOwner},
		"a removal of another revision":       {remove("notes", "acme", "0"), catalog.ErrChanged},
		"a removal of nothing":                {remove("none", "acme", catalog.AnyRevision), catalog.ErrNotFound},
		"an overlay of nothing":               {quality("none", ""), catalog.ErrNotFound},
		"an overlay of another revision":      {quality("notes", "0"), catalog.ErrChanged},
		"no overlay of nothing":               {func() error { return f.ClearQuality(ctx, "none") }, catalog.ErrNotFound},
		"a transfer of nothing":               {give("none", catalog.SeedOwner), catalog.ErrNotFound},
		"a transfer to nobody":                {give("notes", ""), catalog.ErrNoPublisher},
		"a transfer to who is no publisher":   {give("notes", "nobody"), catalog.ErrNoPublisher},
		"a transfer to who can be none":       {give("notes", "A/B"), catalog.ErrNoPublisher},
		"a recipe under another name":         {create(wrongName), &catalog.InvalidError{}},
		"a recipe that the API does not take": {create(draft("acme", tooLong)), &catalog.InvalidError{}},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.act()
			if invalid, ok := errors.AsType[*catalog.InvalidError](tt.want); ok {
				if !errors.As(err, &invalid) || len(invalid.Problems) == 0 || invalid.Problems[0].Message == "" {
					t.Errorf("got %v", err)
				}
			} else if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	for name, version := range before {
		if f.object(name).ResourceVersion != version {
			t.Errorf("%s was written", name)
		}
	}
}

// TestOneOfManyWins has writers race, each in a process of its own.
func TestOneOfManyWins(t *testing.T) {
	first := start(t)
	replicas := []*fixture{first}
	for range 3 {
		replicas = append(replicas, startIn(t, ingressConfig(), first.namespace))
	}
	race := func(act func(i int, f *fixture) error) (won int, errs []error) {
		results := make([]error, len(replicas))
		var running sync.WaitGroup
		for i, f := range replicas {
			running.Go(func() { results[i] = act(i, f) })
		}
		running.Wait()
		won = slices.Index(results, nil)
		return won, slices.DeleteFunc(results, func(err error) bool { return err == nil })
	}
	publisher := func(i int) string { return []string{"alpha", "beta", "gamma", "delta"}[i] }
	lost := func(won int, errs []error, want error) {
		t.Helper()
		if won < 0 || len(errs) != len(replicas)-1 {
			t.Fatalf("%d won, the others: %v", len(replicas)-len(errs), errs)
		}
		for _, err := range errs {
			if !errors.Is(err, want) {
				t.Errorf("a loser is told %v, want %v", err, want)
			}
		}
	}
	for range 10 {
		won, errs := race(func(i int, f *fixture) error {
			_, err := f.CreateRecipe(t.Context(), put(draft(publisher(i), valid("notes")), "", false))
			return err
		})
		lost(won, errs, catalog.ErrExists)
		owner := publisher(won)
		e := first.read("notes")
		if e.Owner != owner {
			t.Fatalf("%s has it, and %s was told so", e.Owner, owner)
		}
		e = first.judge("notes")

		won, errs = race(func(i int, f *fixture) error {
			r := valid("notes")
			r.RecipeVersion, r.Description = "1.1.0", publisher(i)
			_, err := f.UpdateRecipe(t.Context(), put(draft(owner, r), e.Revision, false))
			return err
		})
		lost(won, errs, catalog.ErrChanged)
		if e = first.read("notes"); e.Pending == nil || e.Pending.Description != publisher(won) {
			t.Fatalf("another one's recipe is there: %+v", e.Pending)
		}
		won, errs = race(func(_ int, f *fixture) error {
			return f.RetireRecipe(t.Context(), "notes", owner, e.Revision, false)
		})
		lost(won, errs, catalog.ErrNotFound)
		won, errs = race(func(_ int, f *fixture) error { return f.DeleteRecipe(t.Context(), "notes", "", false) })
		lost(won, errs, catalog.ErrNotFound)
	}
}

// TestAnUpdateOutlastsTheOperatorsWrites is of writes that change no revision.
func TestAnUpdateOutlastsTheOperatorsWrites(t *testing.T) {
	f := start(t)
	f.create(draft("acme", valid("notes")))
	e := f.judge("notes")
	ctx, stop := t.Context(), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for generation := int64(100); ; generation++ {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond):
			}
			o := &v1alpha1.CatalogRecipe{}
			o.Namespace, o.Name = f.namespace, "notes"
			if err := f.api.Get(ctx, keyOf(o), o); err != nil {
				continue
			}
			o.Status.ObservedGeneration = generation
			if err := f.api.Status().Update(ctx, o); err != nil && !apierrors.IsConflict(err) {
				t.Error(err)
			}
		}
	})
	defer writing.Wait()
	defer close(stop)
	for i := range 20 {
		if _, _, err := f.SetQuality(ctx, "notes", catalog.Overlay{Score: new(i)}, e.Revision, false); err != nil {
			t.Fatalf("the %dth: %v", i, err)
		}
		e = f.read("notes")
	}
}

func TestAnUpdateReplacesTheWholeRecipe(t *testing.T) {
	f := start(t)
	d := draft("acme", valid("notes"))
	d.Recipe.Auth = &recipe.Auth{Required: true, Type: "api-key", EnvVars: []string{"NOTES_TOKEN"}}
	d.Deprecated = &catalog.Deprecation{Since: time.Now(), Reason: "old"}
	e := f.create(d)
	if e.Deprecated == nil || e.Recipe.Auth == nil {
		t.Fatalf("%+v", e)
	}
	d.Recipe.Auth, d.Recipe.Metadata, d.Deprecated = nil, recipe.Metadata{Category: "search"}, nil
	if e, err := f.UpdateRecipe(t.Context(), put(d, e.Revision, false)); err != nil || e.Deprecated != nil || !catalog.Same(e.Recipe, d.Recipe) {
		t.Errorf("%v: %s", err, catalog.SourceOf(e.Recipe))
	}
}

func TestWhatOtherToolsHoldIsNotOverwritten(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	f.create(draft("acme", valid("notes")))
	f.kubectl("notes", func(s *v1alpha1.CatalogRecipeSpec) {
		s.Recipe.Skill = &recipe.Skill{APIVersion: "v3"}
	})
	var managed *catalog.ManagedError
	_, err := f.UpdateRecipe(ctx, put(draft("acme", valid("notes")), catalog.AnyRevision, false))
	if !errors.As(err, &managed) || !slices.Equal(managed.By, []string{"kubectl-edit"}) {
		t.Errorf("got %v", err)
	}

	f.create(draft("acme", valid("deprecated")))
	f.kubectl("deprecated", func(s *v1alpha1.CatalogRecipeSpec) {
		s.Deprecated = &v1alpha1.RecipeDeprecation{Since: metav1.Now(), Reason: "unsafe"}
	})
	next := valid("deprecated")
	next.RecipeVersion = "1.1.0"
	if e, err := f.UpdateRecipe(ctx, put(draft("acme", next), catalog.AnyRevision, false)); err != nil || e.Deprecated == nil {
		t.Errorf("the publisher took the administrator's deprecation back: %v, %+v", err, e.Deprecated)
	}
	d := draft("acme", next)
	d.Deprecated = &catalog.Deprecation{Since: time.Now(), Reason: "mine"}
	if _, err := f.UpdateRecipe(ctx, put(d, catalog.AnyRevision, false)); !errors.As(err, &managed) {
		t.Errorf("got %v", err)
	}

	f.kubectl("notes", func(s *v1alpha1.CatalogRecipeSpec) { s.Quality = &v1alpha1.QualityOverlay{Badge: "gold"} })
	if _, _, err := f.SetQuality(ctx, "notes", catalog.Overlay{Score: new(1)}, "", false); !errors.As(err, &managed) {
		t.Errorf("got %v", err)
	}
	if err := f.ClearQuality(ctx, "notes"); !errors.As(err, &managed) {
		t.Errorf("got %v", err)
	}
}

func TestAnOverlayWaitsForItsRecipe(t *testing.T) {
	f := start(t)
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "notes"}}
	o.Spec.Quality = &v1alpha1.QualityOverlay{Badge: "gold"}
	testenv.ExpectApplied(t, f.api, o)
	if e := f.create(draft("acme", valid("notes"))); e.Owner != "acme" || e.Quality == nil || e.Quality.Badge != "gold" {
		t.Errorf("%+v", e)
	}
}

// TestWhatAFileSaysWithoutContentIsStored writes members that a recipe file has and the
// API leaves out: the API server refuses some of them.
func TestWhatAFileSaysWithoutContentIsStored(t *testing.T) {
	f := start(t)
	d := draft("acme", valid("notes"))
	d.Recipe.Auth = &recipe.Auth{Type: "none"}
	d.Recipe.Skill = &recipe.Skill{Workflows: []recipefile.RecipeWorkflow{{ID: "add", Name: "Add a note"}}}
	d.Recipe.Metadata.CostPerCall = 0.005
	d.Recipe.LocalOnly.Tools = []string{"open_editor"}
	f.create(d)
	if e := f.read("notes"); !catalog.Same(e.Recipe, d.Recipe) {
		t.Errorf("another recipe is stored: %s", catalog.SourceOf(e.Recipe))
	}
	d.Recipe.Metadata.ToolCount = 1 << 40
	var invalid *catalog.InvalidError
	if _, err := f.UpdateRecipe(t.Context(), put(d, catalog.AnyRevision, false)); !errors.As(err, &invalid) || invalid.Problems[0].Field != "metadata.toolCount" {
		t.Errorf("of a count that the API cannot hold: %v", err)
	}
}
