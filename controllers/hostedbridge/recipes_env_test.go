// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// notes returns a version of a recipe that installs that version of a package.
func notes(version, pkg string, change ...func(*recipe.Recipe)) recipe.Recipe {
	r := recipe.Recipe{
		SchemaVersion: 2, ID: "notes", Name: "Notes", Description: "Keeps notes.", RecipeVersion: version, Repository: "https://example.com/notes",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/notes@" + pkg}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/notes", Version: pkg},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// publish writes the recipe into the catalog, and nothing of its status.
func (f *fixture) publish(t *testing.T, r recipe.Recipe) *v1alpha1.CatalogRecipe {
	t.Helper()
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.CatalogNamespace, Name: r.ID}}
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: f.Settings.CatalogNamespace, Name: r.ID}
	}
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	testenv.ExpectApplied(t, f.Client, o)
	return o
}

// accept writes what the controller of recipes would.
func (f *fixture) accept(t *testing.T, o *v1alpha1.CatalogRecipe) {
	t.Helper()
	v := validate.Accept(o, nil, f.clock.Now())
	if !v.Accepted {
		t.Fatalf("not accepted: %s", v.Message)
	}
	o.Status.Versions = v.Versions
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionTrue, Reason: v.Reason, Message: v.Message, ObservedGeneration: o.Generation,
	})
	must.Succeed(t, f.Status().Update(t.Context(), o))
}

// using makes the bridge's only server one of the recipe notes.
func using(version string) func(*v1alpha1.HostedBridgeSpec) {
	return func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = []v1alpha1.Server{{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes", Version: version}}}
	}
}

// built are a bridge's objects as they were.
type built struct {
	deployment, configMap string
	config                string
}

func (f *fixture) built(t *testing.T, name string) built {
	t.Helper()
	_, d := f.children(name)
	testenv.ExpectExists(t, f.Client, d)
	c := f.configMap(name)
	testenv.ExpectExists(t, f.Client, c)
	return built{d.ResourceVersion, c.ResourceVersion, c.Data["config.json"]}
}

// run brings a bridge to where it runs.
func (f *fixture) run(t *testing.T, b *v1alpha1.HostedBridge) {
	t.Helper()
	testenv.ExpectApplied(t, f.Client, b)
	_, d := f.children(b.Name)
	f.eventually(t, b.Name+" has a Deployment", d, func() bool { return d.Spec.Replicas != nil && *d.Spec.Replicas == 1 })
	f.roll(t, b)
	f.eventually(t, b.Name+" runs", b, func() bool { return b.Status.Phase == v1alpha1.PhaseRunning && b.Status.PodName != "" })
}

// recipeIs waits until the status says of the bridge's recipe what is wanted.
func (f *fixture) recipeIs(t *testing.T, b *v1alpha1.HostedBridge, reason, version string) {
	t.Helper()
	f.eventually(t, b.Name+"'s recipe is "+reason+" "+version, b, func() bool {
		s := bridgestate.RecipeOf(effective.Of(b), "mine")
		return s.Reason == reason && s.Version == version
	})
}

// settled waits until the controller has worked off what came before: a change
// of a bridge that has nothing to do with recipes.
func (f *fixture) settled(t *testing.T, b *v1alpha1.HostedBridge) {
	t.Helper()
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Description += "x" })
	f.eventually(t, "a later change was seen", b, func() bool { return b.Status.ObservedGeneration == b.Generation })
}

func TestARecipesChangeReachesThoseWhomItConcerns(t *testing.T) {
	f := newFixture(t)
	f.accept(t, f.publish(t, notes("1.0.0", "1.2.3")))
	c := f.start(t)
	follower, pinned, plain := f.bridge("follower", using("")), f.bridge("pinned", using("1.0.0")), f.bridge("plain")
	for _, b := range []*v1alpha1.HostedBridge{follower, pinned, plain} {
		f.run(t, b)
	}
	if b := f.built(t, "follower"); !strings.Contains(b.config, "@example/notes@1.2.3") {
		t.Errorf("the bridge is told %s", b.config)
	}
	f.settled(t, plain)
	was, is := map[string]built{}, map[string]int32{}
	note := func() {
		for _, name := range []string{"follower", "pinned"} {
			was[name], is[name] = f.built(t, name), c.of(name)
		}
	}
	untouched := func(what, name string) {
		t.Helper()
		if got := f.built(t, name); got != was[name] {
			t.Errorf("%s: objects of %s were written:\n%+v\n%+v", what, name, was[name], got)
		}
		if n := c.of(name) - is[name]; n != 0 {
			t.Errorf("%s: %s was reconciled %d times", what, name, n)
		}
	}

	note()
	o := f.publish(t, notes("1.1.0", "1.3.0"))
	f.settled(t, plain)
	untouched("a version that waits for its verdict", "follower")
	f.accept(t, o)
	f.recipeIs(t, follower, v1alpha1.ReasonRecipeInUse, "1.1.0")
	if b := f.built(t, "follower"); !strings.Contains(b.config, "@example/notes@1.3.0") || b.deployment != was["follower"].deployment {
		t.Errorf("a new version: the Deployment was rolled for what a bridge can take, or the bridge is told %s", b.config)
	}
	f.settled(t, plain)
	untouched("a new version", "pinned")

	note()
	f.accept(t, f.publish(t, notes("1.2.0", "1.3.0", func(r *recipe.Recipe) { r.Metadata.Tags = []string{"paper"} })))
	f.recipeIs(t, follower, v1alpha1.ReasonRecipeInUse, "1.2.0")
	f.settled(t, plain)
	if got := f.built(t, "follower"); got != was["follower"] {
		t.Errorf("a version that says the same of the server: %+v\n%+v", was["follower"], got)
	}
	untouched("another new version", "pinned")

	note()
	o = f.publish(t, notes("1.2.0", "1.3.0", func(r *recipe.Recipe) { r.Metadata.Tags = []string{"paper"} }))
	o.Spec.Quality = &v1alpha1.QualityOverlay{Verified: new(true)}
	testenv.ExpectApplied(t, f.Client, o)
	f.settled(t, plain)
	untouched("an overlay", "follower")
	untouched("an overlay", "pinned")

	o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: metav1.NewTime(f.clock.Now())}
	testenv.ExpectApplied(t, f.Client, o)
	f.recipeIs(t, follower, v1alpha1.ReasonRecipeDeprecated, "1.2.0")
	f.recipeIs(t, pinned, v1alpha1.ReasonRecipeDeprecated, "1.0.0")
	for name := range was {
		if got := f.built(t, name); got != was[name] {
			t.Errorf("deprecated: objects of %s were written", name)
		}
	}
}

// TestALostRecipeTakesNothingDown deletes a recipe under bridges that run it,
// starts the operator anew without it, and makes it anew.
func TestALostRecipeTakesNothingDown(t *testing.T) {
	f := newFixture(t)
	owned := func(t *testing.T, owner string) *v1alpha1.CatalogRecipe {
		t.Helper()
		o := f.publish(t, notes("1.0.0", "1.2.3"))
		o.Spec.Owner = owner
		testenv.ExpectApplied(t, f.Client, o)
		f.accept(t, o)
		return o
	}
	o := owned(t, catalog.SeedOwner)
	follower, pinned := f.bridge("follower", using("")), f.bridge("pinned", using("1.0.0"))
	both := []*v1alpha1.HostedBridge{follower, pinned}
	was := map[string]built{}
	same := func(t *testing.T, what string) {
		t.Helper()
		for _, b := range both {
			if got := f.built(t, b.Name); got != was[b.Name] {
				t.Errorf("%s: objects of %s were written:\n%+v\n%+v", what, b.Name, was[b.Name], got)
			}
		}
	}
	t.Run("deleted", func(t *testing.T) {
		f.start(t)
		for _, b := range both {
			f.run(t, b)
			was[b.Name] = f.built(t, b.Name)
		}
		must.Succeed(t, f.Delete(t.Context(), o))
		for _, b := range both {
			f.recipeIs(t, b, v1alpha1.ReasonRecipeKept, "1.0.0")
		}
		same(t, "deleted")
	})
	t.Run("an operator that starts without it", func(t *testing.T) {
		c := f.start(t)
		for _, b := range both {
			f.eventually(t, "reconciled", b, func() bool { return c.of(b.Name) > 0 })
			f.recipeIs(t, b, v1alpha1.ReasonRecipeKept, "1.0.0")
		}
		same(t, "without it")
		o = owned(t, "")
		for _, b := range both {
			f.eventually(t, "somebody else's is looked at", b, func() bool {
				return strings.Contains(bridgestate.RecipeOf(effective.Of(b), "mine").Message, "created again, by nobody who is known")
			})
			f.recipeIs(t, b, v1alpha1.ReasonRecipeKept, "1.0.0")
		}
		same(t, "made anew by somebody else")
		must.Succeed(t, f.Delete(t.Context(), o))
		o = owned(t, catalog.SeedOwner)
		for _, b := range both {
			f.recipeIs(t, b, v1alpha1.ReasonRecipeInUse, "1.0.0")
		}
		same(t, "made anew by its owner")
	})
	t.Run("an operator that starts with it", func(t *testing.T) {
		c := f.start(t)
		for _, b := range both {
			before := b.ResourceVersion
			f.eventually(t, "reconciled", b, func() bool { return c.of(b.Name) > 0 })
			if b.ResourceVersion != before {
				t.Errorf("%s was written", b.Name)
			}
		}
		same(t, "with it")
	})
}

func TestAServerWaitsForItsRecipeAndOthersDoNot(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		using("")(s)
		s.Servers = append(s.Servers, servers("open")...)
	})
	f.run(t, b)
	f.recipeIs(t, b, v1alpha1.ReasonRecipeNotFound, "")
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted); c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonRecipesUnusable ||
		!strings.Contains(c.Message, "server mine: the catalog has no recipe notes") {
		t.Errorf("Accepted is %+v", c)
	}
	if got := f.built(t, "alice").config; !strings.Contains(got, `"name":"open"`) || strings.Contains(got, `"name":"mine"`) {
		t.Errorf("the bridge is told %s", got)
	}
	o := f.publish(t, notes("1.0.0", "1.2.3"))
	f.recipeIs(t, b, v1alpha1.ReasonRecipeNotAccepted, "")
	f.accept(t, o)
	f.recipeIs(t, b, v1alpha1.ReasonRecipeInUse, "1.0.0")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "alice-bridge"}}
	f.eventually(t, "its container is there", d, func() bool {
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "stdio-mine" {
				return true
			}
		}
		return false
	})
	// The author keeps it to people's own machines from now on.
	f.accept(t, f.publish(t, notes("1.1.0", "1.2.3", func(r *recipe.Recipe) { r.LocalOnly.All = true })))
	f.recipeIs(t, b, v1alpha1.ReasonRecipeLocalOnly, "")
	f.change(t, b, using("1.0.0"))
	f.recipeIs(t, b, v1alpha1.ReasonRecipeInUse, "1.0.0")
}

func TestAServerThatIsOutOfServiceForItsRecipeIsAnEvent(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", using(""))
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	select {
	case e := <-f.events.Events:
		if !strings.HasPrefix(e, "Warning RecipesUnusable ") || !strings.Contains(e, "server mine: the catalog has no recipe notes") {
			t.Errorf("event %q", e)
		}
	default:
		t.Error("no event")
	}
}

// TestAnEventIsNoLongerThanTheAPITakes has as many servers as a message names,
// and of each as much as there can be to say.
func TestAnEventIsNoLongerThanTheAPITakes(t *testing.T) {
	f := newFixture(t)
	o := f.publish(t, notes("1.0.0", "1.2.3"))
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRecipeInvalid, Message: strings.Repeat("no ", 1000),
	})
	must.Succeed(t, f.Status().Update(t.Context(), o))
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = nil
		for _, name := range []string{"a", "b", "c"} {
			s.Servers = append(s.Servers, v1alpha1.Server{Name: name, Recipe: &v1alpha1.RecipeReference{Name: "notes"}})
		}
	})
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	select {
	case e := <-f.events.Events:
		note, ok := strings.CutPrefix(e, "Warning RecipesUnusable ")
		if !ok || len(note) > 1024 || !strings.HasSuffix(note, "…") {
			t.Errorf("%d bytes: %s", len(note), e)
		}
	default:
		t.Error("no event")
	}
}

// TestAVersionThatMovedIsLeftToTheUser follows a recipe that takes its program
// from another package, which the user then asks for.
func TestAVersionThatMovedIsLeftToTheUser(t *testing.T) {
	f := newFixture(t)
	f.accept(t, f.publish(t, notes("1.0.0", "1.2.3")))
	f.start(t)
	b := f.bridge("alice", using(""))
	f.run(t, b)
	was := f.built(t, "alice")
	f.accept(t, f.publish(t, notes("1.1.0", "1.2.3", func(r *recipe.Recipe) {
		r.Install.Package, r.Transports[0].Args[1] = "@other/notes", "@other/notes@1.2.3"
	})))
	f.recipeIs(t, b, v1alpha1.ReasonRecipeMoved, "1.0.0")
	if got := f.built(t, "alice"); got != was {
		t.Errorf("objects were written:\n%+v\n%+v", was, got)
	}
	f.change(t, b, using("1.1.0"))
	f.recipeIs(t, b, v1alpha1.ReasonRecipeInUse, "1.1.0")
	f.change(t, b, using(""))
	f.eventually(t, "the pin is gone", b, func() bool { return b.Status.ObservedGeneration == b.Generation })
	f.recipeIs(t, b, v1alpha1.ReasonRecipeInUse, "1.1.0")
	if s := bridgestate.RecipeOf(effective.Of(b), "mine"); s.Place != "npx @other/notes" || s.UID == "" || s.Last != nil {
		t.Errorf("the status is %+v", s)
	}
	// Out of service the status remembers what it was.
	o := f.publish(t, notes("1.1.0", "1.2.3"))
	o.Spec.Recipe = nil
	testenv.ExpectApplied(t, f.Client, o)
	f.recipeIs(t, b, v1alpha1.ReasonRecipeNotAccepted, "")
	if last := bridgestate.RecipeOf(effective.Of(b), "mine").Last; last == nil || last.Version != "1.1.0" || last.Place != "npx @other/notes" || last.UID == "" || last.Source != "" {
		t.Errorf("the status remembers %+v", last)
	}
}
