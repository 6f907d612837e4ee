// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

// Package seed tries seeding as an installation does it: with the store, the
// operator and an API server.
package seed

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/catalogrecipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// writes counts what a replica asks the API server to change.
type writes struct {
	next http.RoundTripper

	mu    sync.Mutex
	count int
}

func (w *writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.mu.Lock()
		w.count++
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

func (w *writes) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// replica is one ingress's part of the catalog.
type replica struct {
	*recipestore.Store
	*writes
}

// newReplica follows the catalog of a namespace until the test ends.
func newReplica(t testing.TB, namespace string) *replica {
	t.Helper()
	counted := &writes{}
	config := testenv.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	})
	store, err := recipestore.New(config, recipestore.Options{
		Namespace: namespace, Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Run(t, store.Run)
	wait.Until(t, "the catalog is read", store.Synced)
	return &replica{Store: store, writes: counted}
}

// operate checks the recipes of a namespace, as the operator does.
func operate(t testing.TB, namespace string) {
	t.Helper()
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme:  testenv.Scheme(),
		Cache:   cache.Options{ReaderFailOnMissingInformer: true, ByObject: catalogrecipe.CacheOptions(namespace)},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &catalogrecipe.Reconciler{Client: m.GetClient(), Clock: clocktesting.NewFakePassiveClock(time.Now())}
	must.Succeed(t, r.Setup(t.Context(), m))
	testenv.Run(t, m.Start)
}

// seeder returns a seeder of a replica, from a place.
func (r *replica) seeder(t testing.TB, place string, o seed.Options) *seed.Seeder {
	t.Helper()
	source := must.Value(seed.ParseSource(place, o))(t)
	return seed.New(source, r, clock.System{}, slog.New(slog.DiscardHandler))
}

func expectSeeded(t testing.TB, s *seed.Seeder, want map[catalog.ChangeKind]int) catalog.SeedReport {
	t.Helper()
	report := must.Value(s.Seed(t.Context(), false))(t)
	for kind, count := range want {
		if report.Counts[kind] != count {
			t.Errorf("%d recipes to %s, want %d", report.Counts[kind], kind, count)
		}
	}
	if len(report.Counts) != len(want) {
		t.Errorf("counts are %v, want %v", report.Counts, want)
	}
	return report
}

// objects returns the recipes of a namespace by their names.
func objects(t testing.TB, c client.Client, namespace string) map[string]v1alpha1.CatalogRecipe {
	t.Helper()
	var list v1alpha1.CatalogRecipeList
	must.Succeed(t, c.List(t.Context(), &list, client.InNamespace(namespace)))
	found := map[string]v1alpha1.CatalogRecipe{}
	for _, o := range list.Items {
		found[o.Name] = o
	}
	return found
}

func resourceVersions(all map[string]v1alpha1.CatalogRecipe) map[string]string {
	versions := map[string]string{}
	for name := range all {
		o := all[name]
		versions[name] = o.ResourceVersion
	}
	return versions
}

// isAccepted reports whether the operator took an object as it is now.
func isAccepted(o v1alpha1.CatalogRecipe) bool {
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
	return c != nil && c.Status == "True" && c.ObservedGeneration == o.Generation
}

// valid returns a recipe with which nothing is wrong.
func valid(id, version string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Server " + id, Description: "Does something, in version " + version,
		Repository: "https://example.com/" + id, RecipeVersion: version,
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/" + id + "@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/" + id, Version: "1.2.3"},
		Metadata:   recipe.Metadata{Category: "productivity", License: "MIT", Tags: []string{"notes", "search"}},
	}
}

// put writes recipes into a folder.
func put(t testing.TB, dir string, recipes ...recipe.Recipe) {
	t.Helper()
	for _, r := range recipes {
		folder := filepath.Join(dir, r.ID)
		err := os.MkdirAll(folder, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "recipe.json"), []byte(catalog.SourceOf(r)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
