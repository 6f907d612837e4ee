// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package catalogrecipe_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/catalogrecipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// valid returns a recipe with which nothing is wrong.
func valid(id string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Notes", Description: "Keeps notes", Repository: "https://example.com/notes", RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/notes@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/notes", Version: "1.2.3", Prerequisites: jsondoc.Ordered[jsondoc.Value]{{Name: "node", Value: jsondoc.Text("22")}}},
	}
}

func object(namespace string, r recipe.Recipe) *v1alpha1.CatalogRecipe {
	return &v1alpha1.CatalogRecipe{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CatalogRecipe"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.ID},
		Spec:       v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: r}},
	}
}

// run starts the controller on a catalog of its own, as the operator does.
func run(t *testing.T) (client.Client, string) {
	t.Helper()
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme:  testenv.Scheme(),
		Cache:   cache.Options{ReaderFailOnMissingInformer: true, ByObject: catalogrecipe.CacheOptions(namespace)},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &catalogrecipe.Reconciler{Client: m.GetClient(), Clock: clocktesting.NewFakePassiveClock(start)}
	must.Succeed(t, r.Setup(t.Context(), m))
	testenv.Run(t, m.Start)
	return c, namespace
}

// expect waits until the operator has said this of the object as it is now, and
// returns what is served then.
func expect(t *testing.T, c client.Client, o *v1alpha1.CatalogRecipe, reason string) catalog.Entry {
	t.Helper()
	said := ""
	wait.Until(t, fmt.Sprintf("%s is said of %s", reason, o.Name), func() bool {
		testenv.ExpectExists(t, c, o)
		condition := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
		if condition == nil || condition.ObservedGeneration != o.Generation {
			return false
		}
		said = condition.Message
		return condition.Reason == reason && (condition.Status == metav1.ConditionTrue) == (reason == v1alpha1.ReasonRecipeValid)
	})
	seen := health.Failed
	if reason == v1alpha1.ReasonRecipeValid {
		seen = health.Current
	}
	health.Expect(t, o, seen)
	e, err := catalog.EntryOf(o)
	if err != nil {
		t.Fatalf("%v (%s)", err, said)
	}
	return e
}

// write changes an object as its author would.
func write(t *testing.T, c client.Client, o *v1alpha1.CatalogRecipe, change func(*v1alpha1.CatalogRecipeSpec)) {
	t.Helper()
	testenv.ExpectExists(t, c, o)
	before := o.DeepCopy()
	change(&o.Spec)
	must.Succeed(t, c.Patch(t.Context(), o, client.MergeFrom(before)))
}

func TestARecipeThatBreaksTheRulesIsNotServed(t *testing.T) {
	c, namespace := run(t)
	bad := valid("bad")
	bad.Install.Version, bad.Install.PreInstall = "latest", []string{"curl evil"}
	o := object(namespace, bad)
	testenv.ExpectApplied(t, c, o)
	e := expect(t, c, o, v1alpha1.ReasonRecipeInvalid)
	if e.Accepted || len(e.Versions) != 0 {
		t.Errorf("served: %+v", e)
	}
	for _, field := range []string{"install.version", "install.preInstall"} {
		if !strings.Contains(e.Refused, field) {
			t.Errorf("%s is not named: %s", field, e.Refused)
		}
	}
	if _, there := search.NewSnapshot([]catalog.Entry{e}, nil).Get("bad"); there {
		t.Error("the snapshot has it")
	}

	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe = &v1alpha1.Recipe{Recipe: valid("bad")} })
	e = expect(t, c, o, v1alpha1.ReasonRecipeValid)
	if !e.Accepted || !catalog.Same(e.Recipe, valid("bad")) || !e.Updated.Equal(start) {
		t.Errorf("not served after it was mended: %+v", e)
	}
	if prerequisites := e.Recipe.Install.Prerequisites; len(prerequisites) != 1 || prerequisites[0].Value.Text != "22" {
		t.Errorf("prerequisites %v", prerequisites)
	}
}

func TestARefusedChangeLeavesTheAcceptedVersion(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	expect(t, c, o, v1alpha1.ReasonRecipeValid)

	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.Description = "Else" })
	e := expect(t, c, o, v1alpha1.ReasonRecipeVersion)
	if !e.Accepted || e.Recipe.Description != "Keeps notes" || e.Pending == nil {
		t.Errorf("after another content under the same version: %+v", e)
	}
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.RecipeVersion = "1.1.0" })
	e = expect(t, c, o, v1alpha1.ReasonRecipeValid)
	if e.Recipe.Description != "Else" || len(e.Versions) != 2 || e.Versions[1].Recipe.Description != "Keeps notes" {
		t.Errorf("after a higher version: %+v", e)
	}
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe = nil })
	if e = expect(t, c, o, v1alpha1.ReasonRecipeMissing); e.Accepted {
		t.Errorf("after the recipe was taken back: %+v", e)
	}
}

func TestAnOverlayDoesNotInterruptARecipe(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	first := expect(t, c, o, v1alpha1.ReasonRecipeValid)
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Quality = &v1alpha1.QualityOverlay{Verified: new(true)} })
	between, err := catalog.EntryOf(o)
	if err != nil || !between.Accepted || between.Revision == first.Revision {
		t.Errorf("%v: %+v", err, between)
	}
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); len(e.Versions) != 1 || e.Revision != between.Revision {
		t.Errorf("%+v", e)
	}
}

// TestNothingIsWrittenTwice looks at an object that is as it was.
func TestNothingIsWrittenTwice(t *testing.T) {
	c, namespace := run(t)
	o := object(namespace, valid("notes"))
	testenv.ExpectApplied(t, c, o)
	expect(t, c, o, v1alpha1.ReasonRecipeValid)
	written := o.ResourceVersion
	r := &catalogrecipe.Reconciler{Client: c, Clock: clocktesting.NewFakePassiveClock(start.Add(time.Hour))}
	must.Value(r.Reconcile(t.Context(), o))(t)
	testenv.ExpectExists(t, c, o)
	if o.ResourceVersion != written {
		t.Error("the object was written")
	}
	stale := o.DeepCopy()
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe.RecipeVersion = "0.1.0" })
	expect(t, c, o, v1alpha1.ReasonRecipeVersion)
	stale.Status.Conditions = nil
	result, err := r.Reconcile(t.Context(), stale)
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("what was read before is not read again: %+v, %v", result, err)
	}
	if e := expect(t, c, o, v1alpha1.ReasonRecipeVersion); e.Recipe.RecipeVersion != "1.0.0" {
		t.Errorf("a verdict on an older spec was written: %+v", e)
	}
}

func TestAPublishersKeyDecidesOnWhatIsSigned(t *testing.T) {
	c, namespace := run(t)
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	doc, err := jsondoc.Encode(valid("notes"))
	if err != nil {
		t.Fatal(err)
	}
	// The signature covers a member that the API leaves out.
	if doc, err = recipe.Sign(doc.With("localOnly", jsondoc.Value{Kind: jsondoc.Bool, Text: "false"}), private, "acme", start); err != nil {
		t.Fatal(err)
	}
	source := must.Value(json.Marshal(doc))(t)
	r, _ := must.Values(catalog.ReadSource(string(source)))(t)
	o := object(namespace, r)
	o.Spec.Source, o.Spec.Owner = string(source), "acme"
	testenv.ExpectApplied(t, c, o)
	if e := expect(t, c, o, v1alpha1.ReasonRecipeSignature); e.Accepted {
		t.Errorf("without a publisher: %+v", e)
	}

	publisher := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acme"}}
	publisher.Spec.PublicKeys = []string{recipe.FormatKey(private.Public().(ed25519.PublicKey))}
	must.Succeed(t, c.Create(t.Context(), publisher))
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); !e.Accepted || e.Source != string(source) {
		t.Errorf("with the publisher's key: %+v", e)
	}

	publisher.Spec.PublicKeys = nil
	must.Succeed(t, c.Update(t.Context(), publisher))
	if e := expect(t, c, o, v1alpha1.ReasonRecipeSignature); e.Accepted {
		t.Errorf("after the key was withdrawn: %+v", e)
	}
}

// signedBy returns a recipe that acme signed, and as what.
func signedBy(t *testing.T, private ed25519.PrivateKey, version string, at time.Time) (r recipe.Recipe, source string) {
	t.Helper()
	unsigned := valid("notes")
	unsigned.RecipeVersion = version
	doc, err := jsondoc.Encode(unsigned)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, private, "acme", at); err != nil {
		t.Fatal(err)
	}
	b := must.Value(json.Marshal(doc))(t)
	if r, _, err = catalog.ReadSource(string(b)); err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

// TestAWithdrawnKeyIsSaidOfOlderVersionsToo has a publisher change the key between
// two versions, and hand the recipe to another one.
func TestAWithdrawnKeyIsSaidOfOlderVersionsToo(t *testing.T) {
	c, namespace := run(t)
	old := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, current := must.Values(ed25519.GenerateKey(nil))(t)
	publisher := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acme"}}
	publisher.Spec.PublicKeys = []string{recipe.FormatKey(old.Public().(ed25519.PublicKey)), recipe.FormatKey(public)}
	must.Succeed(t, c.Create(t.Context(), publisher))
	r, source := signedBy(t, old, "1.0.0", start.Add(-time.Hour))
	o := object(namespace, r)
	o.Spec.Source, o.Spec.Owner = source, "acme"
	testenv.ExpectApplied(t, c, o)
	expect(t, c, o, v1alpha1.ReasonRecipeValid)
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) {
		r, s.Source = signedBy(t, current, "1.1.0", start)
		s.Recipe = &v1alpha1.Recipe{Recipe: r}
	})
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); len(e.Versions) != 2 || e.Versions[0].Withdrawn || e.Versions[1].Withdrawn {
		t.Fatalf("with both keys: %+v", e.Versions)
	}

	isWithdrawn := func(what string, newest, older bool) {
		t.Helper()
		wait.Until(t, what, func() bool {
			testenv.ExpectExists(t, c, o)
			v := o.Status.Versions
			return len(v) == 2 && v[0].Withdrawn == newest && v[1].Withdrawn == older
		})
	}
	publisher.Spec.PublicKeys = publisher.Spec.PublicKeys[1:]
	must.Succeed(t, c.Update(t.Context(), publisher))
	isWithdrawn("the older version is withdrawn", false, true)
	if e := expect(t, c, o, v1alpha1.ReasonRecipeValid); !e.Accepted {
		t.Errorf("the newest is not served: %+v", e)
	}

	// What the spec says now has no part in whose keys are looked at.
	write(t, c, o, func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe, s.Source = &v1alpha1.Recipe{Recipe: valid("notes")}, "" })
	if e := expect(t, c, o, v1alpha1.ReasonRecipeInvalid); !e.Accepted {
		t.Errorf("before its key is withdrawn: %+v", e)
	}
	must.Succeed(t, c.Delete(t.Context(), publisher))
	isWithdrawn("both are withdrawn without the publisher", true, true)
	if e := expect(t, c, o, v1alpha1.ReasonRecipeInvalid); e.Accepted {
		t.Errorf("a refused change has a withdrawn recipe served: %+v", e)
	}
}

func TestTheAPIServerRefusesTheWrongShape(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	tests := map[string]struct {
		change func(*v1alpha1.CatalogRecipe)
		want   string
	}{
		"a name that is not the id": {func(o *v1alpha1.CatalogRecipe) { o.Name = "other" }, "metadata.name must be spec.recipe.id"},
		"an id with a hyphen at its end": {func(o *v1alpha1.CatalogRecipe) { o.Spec.Recipe.ID = "notes-" },
			"id must be 2 to 64 lower-case letters"},
		"an unknown installer": {func(o *v1alpha1.CatalogRecipe) { o.Spec.Recipe.Install.Method = "curl" }, "spec.recipe.install.method"},
		"a cost that is no number": {func(o *v1alpha1.CatalogRecipe) { o.Spec.Recipe.Metadata.CostPerCall = -1 },
			"costPerCall must be a decimal number"},
		"a replacement that is no id": {func(o *v1alpha1.CatalogRecipe) {
			o.Spec.Deprecated = &v1alpha1.RecipeDeprecation{Since: metav1.NewTime(start), ReplacedBy: "A B"}
		}, "replacedBy must be the id of a recipe"},
		"a score above 100": {func(o *v1alpha1.CatalogRecipe) { o.Spec.Quality = &v1alpha1.QualityOverlay{Score: new(int32(101))} },
			"spec.quality.score"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := object(namespace, valid("notes"))
			tt.change(o)
			if err := c.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	overlay := object(namespace, valid("overlay"))
	overlay.Spec.Recipe, overlay.Spec.Quality = nil, &v1alpha1.QualityOverlay{Badge: "gold"}
	if err := c.Create(t.Context(), overlay); err != nil {
		t.Errorf("an overlay before its recipe: %v", err)
	}
}
