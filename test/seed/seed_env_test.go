// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package seed

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// shipped is how many recipes an installation begins with.
func shipped(t *testing.T) (place string, count int) {
	t.Helper()
	folder := must.Value(filepath.Abs("../../config/recipes"))(t)
	entries := must.Value(os.ReadDir(folder))(t)
	return "dir:" + folder, len(entries)
}

func TestTheShippedRecipesAreSeededOnce(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	operate(t, namespace)
	place, count := shipped(t)
	r := newReplica(t, namespace)
	s := r.seeder(t, place, seed.Options{})
	report := expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.Create: count})
	if len(report.Broken) > 0 || r.total() != count {
		t.Errorf("%d writes for %d recipes, broken: %v", r.total(), count, report.Broken)
	}
	wait.Until(t, "all recipes are accepted and served", func() bool {
		for name, o := range objects(t, c, namespace) {
			if !isAccepted(o) || o.Spec.Owner != catalog.SeedOwner {
				t.Logf("%s is not yet", name)
				return false
			}
		}
		return r.Current().Len() == count
	})
	before := resourceVersions(objects(t, c, namespace))
	if len(before) != count {
		t.Errorf("%d objects, want %d", len(before), count)
	}
	expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.None: count})
	if r.total() != count {
		t.Errorf("the second run writes %d times", r.total()-count)
	}
	other := newReplica(t, namespace)
	expectSeeded(t, other.seeder(t, place, seed.Options{}), map[catalog.ChangeKind]int{catalog.None: count})
	if other.total() != 0 {
		t.Errorf("another replica writes %d times", other.total())
	}
	if diff := cmp.Diff(before, resourceVersions(objects(t, c, namespace))); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
}

func TestReplicasThatStartTogetherSeedOneCatalog(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	place, count := shipped(t)
	const replicas = 3
	ended := make(chan error)
	for range replicas {
		s := newReplica(t, namespace).seeder(t, place, seed.Options{})
		go func() { ended <- s.Run(t.Context()) }()
	}
	for range replicas {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	all := objects(t, c, namespace)
	if len(all) != count {
		t.Errorf("%d recipes, want %d", len(all), count)
	}
	for name, o := range all {
		if o.Generation != 1 {
			t.Errorf("%s was changed %d times after it was made", name, o.Generation-1)
		}
	}
}

func TestASeedTouchesItsOwnRecipesAlone(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	operate(t, namespace)
	dir := t.TempDir()
	put(t, dir, valid("kept", "1.0.0"), valid("changed", "1.0.0"), valid("gone", "1.0.0"), valid("broken", "1.0.0"))
	r := newReplica(t, namespace)
	s := r.seeder(t, "dir:"+dir, seed.Options{})
	applied := &v1alpha1.CatalogRecipe{Spec: v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: valid("applied", "1.0.0")}}}
	applied.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "applied"}
	must.Succeed(t, c.Create(t.Context(), applied, client.FieldOwner("kubectl")))
	published := catalog.Draft{Name: "published", Owner: "acme", Recipe: valid("published", "1.0.0")}
	_, err := r.CreateRecipe(t.Context(), catalog.Replacement{
		Name: published.Name, Owner: published.Owner, Draft: func(catalog.Entry) (catalog.Draft, error) { return published, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.Create: 4})
	// An overlay may be there before its recipe, and outlives each seed.
	score := int32(90)
	overlaid := &v1alpha1.CatalogRecipe{Spec: v1alpha1.CatalogRecipeSpec{Quality: &v1alpha1.QualityOverlay{Badge: "gold", Score: &score}}}
	overlaid.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "overlaid"}
	must.Succeed(t, c.Create(t.Context(), overlaid, client.FieldOwner(v1alpha1.FieldOwnerAdmin)))
	must.Values(r.SetQuality(t.Context(), "changed", catalog.Overlay{Badge: "gold", Score: new(90)}, catalog.AnyRevision, false))(t)
	untouched := resourceVersions(objects(t, c, namespace))

	put(t, dir, valid("changed", "1.1.0"), valid("applied", "2.0.0"), valid("published", "2.0.0"), valid("overlaid", "1.0.0"))
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, "gone")))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "broken", "recipe.json"), []byte(`{"schemaVersion":2,"id":"broken"}`), 0o600))
	wait.Until(t, "the replica has seen all of it", func() bool {
		_, published := r.Current().Entry("published")
		e, there := r.Current().Entry("overlaid")
		_, also := r.Current().Entry("applied")
		return published && there && also && e.Quality != nil && r.Current().Len() == 6
	})
	report := expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.Create: 1, catalog.Update: 1, catalog.Deprecate: 1, catalog.None: 3})
	if len(report.Broken) != 1 || report.Broken[0].File != "broken/recipe.json" || len(report.Broken[0].Problems) < 3 {
		t.Errorf("broken: %+v", report.Broken)
	}
	wait.Until(t, "what was written is accepted", func() bool {
		all := objects(t, c, namespace)
		return isAccepted(all["changed"]) && isAccepted(all["overlaid"]) && all["changed"].Status.Versions[0].Version == "1.1.0"
	})
	all := objects(t, c, namespace)
	for _, name := range []string{"changed", "overlaid"} {
		if q := all[name].Spec.Quality; q == nil || q.Badge != "gold" || *q.Score != 90 {
			t.Errorf("%s has the overlay %+v", name, q)
		}
		expectHolder(t, all[name], "f:recipe", v1alpha1.FieldOwnerSeeder)
		expectHolder(t, all[name], "f:quality", v1alpha1.FieldOwnerAdmin)
	}
	if d := all["gone"].Spec.Deprecated; d == nil || d.Reason != catalog.ReasonVanished || all["gone"].Spec.Recipe == nil {
		t.Errorf("the recipe that vanished is %+v", all["gone"].Spec)
	}
	for _, name := range []string{"kept", "applied", "published", "broken"} {
		if o := all[name]; o.Generation != 1 || o.Spec.Deprecated != nil {
			t.Errorf("%s was changed: %+v", name, o.Spec)
		}
	}
	if len(untouched) != 7 || len(all) != 7 {
		t.Errorf("%d and then %d recipes, want 7", len(untouched), len(all))
	}

	put(t, dir, valid("gone", "1.0.0"))
	expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.Update: 1, catalog.None: 5})
	if o := objects(t, c, namespace)["gone"]; o.Spec.Deprecated != nil {
		t.Errorf("the recipe that is back is %+v", o.Spec.Deprecated)
	}
	written := r.total()
	expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.None: 6})
	if r.total() != written {
		t.Errorf("a run with nothing to do writes %d times", r.total()-written)
	}
}

// expectHolder fails where a field of the spec is not of one manager alone.
func expectHolder(t *testing.T, o v1alpha1.CatalogRecipe, field, want string) {
	t.Helper()
	var holders []string
	for _, m := range o.ManagedFields {
		var held struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		must.Succeed(t, json.Unmarshal(m.FieldsV1.GetRawBytes(), &held))
		if _, holds := held.Spec[field]; holds {
			holders = append(holders, m.Manager)
		}
	}
	if got := strings.Join(holders, ","); got != want {
		t.Errorf("%s of %s is of %s, want %s", field, o.Name, got, want)
	}
}

func TestADryRunIsAskedOfTheAPIServerAndWritesNothing(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	place, count := shipped(t)
	report, err := newReplica(t, namespace).seeder(t, place, seed.Options{}).Seed(t.Context(), true)
	if err != nil || report.Counts[catalog.Create] != count || !report.DryRun {
		t.Errorf("%v, %+v", err, report.Counts)
	}
	if all := objects(t, c, namespace); len(all) > 0 {
		t.Errorf("%d recipes were written", len(all))
	}
}

func TestAnEmptyMountChangesNothing(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	dir := t.TempDir()
	put(t, dir, valid("kept", "1.0.0"))
	r := newReplica(t, namespace)
	s := r.seeder(t, "dir:"+dir, seed.Options{})
	expectSeeded(t, s, map[catalog.ChangeKind]int{catalog.Create: 1})
	before := resourceVersions(objects(t, c, namespace))
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, "kept")))
	for _, how := range []string{"empty", "gone"} {
		if how == "gone" {
			must.Succeed(t, os.Remove(dir))
		}
		if report, err := s.Seed(t.Context(), false); err == nil {
			t.Errorf("%s: %+v", how, report)
		}
	}
	if diff := cmp.Diff(before, resourceVersions(objects(t, c, namespace))); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// BenchmarkSeed is how long the first seed of so many recipes takes, and the
// second one, which has nothing to write.
func BenchmarkSeed(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("recipes=%d", count), func(b *testing.B) {
			dir := b.TempDir()
			for i := range count {
				put(b, dir, valid(fmt.Sprintf("server-%05d", i), "1.0.0"))
			}
			var first, second float64
			for b.Loop() {
				r := newReplica(b, testenv.Namespace(b, testenv.Client(b)))
				s := r.seeder(b, "dir:"+dir, seed.Options{})
				start := b.Elapsed()
				expectSeeded(b, s, map[catalog.ChangeKind]int{catalog.Create: count})
				between := b.Elapsed()
				expectSeeded(b, s, map[catalog.ChangeKind]int{catalog.None: count})
				first += (between - start).Seconds()
				second += (b.Elapsed() - between).Seconds()
			}
			b.ReportMetric(first/float64(b.N), "s/first")
			b.ReportMetric(second/float64(b.N), "s/second")
		})
	}
}
