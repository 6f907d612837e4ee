// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// vocabulary is how many words there are. Few are frequent and many rare, as in
// a language.
const vocabulary = 20_000

// nameOf returns the name of a recipe.
func nameOf(n int) string { return fmt.Sprintf("server-%05d", n) }

// writeRecipes writes so many recipe files of some 2 KiB each into a folder.
func writeRecipes(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2)) // The same texts in each run.
	zipf := rand.NewZipf(random, 1.1, 3, vocabulary)
	words := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = wordOf(zipf.Uint64())
		}
		return out
	}
	for i := range n {
		r := recipeOf(i, words)
		content := catalog.SourceOf(r)
		if problems := validate.Check(r, validate.Checks{Name: r.ID}); len(problems) > 0 {
			t.Fatal(problems)
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, r.ID+".json"), []byte(content), 0o600))
	}
	return dir
}

func wordOf(n uint64) string { return fmt.Sprintf("w%dord", n) }

func recipeOf(i int, words func(int) []string) recipe.Recipe {
	name := nameOf(i)
	r := recipe.Recipe{
		SchemaVersion: 2, ID: name, Name: "Server " + name, Description: strings.Join(words(40), " "),
		Repository: "https://example.com/" + name, RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/" + name + "@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/" + name, Version: "1.2.3"},
	}
	r.Metadata.Category = []string{"data", "search", "development", "finance"}[i%4]
	seen := map[string]bool{}
	for _, tag := range words(6) {
		if !seen[tag] {
			seen[tag] = true
			r.Metadata.Tags = append(r.Metadata.Tags, tag)
		}
	}
	for n := range 8 {
		r.Metadata.ToolExamples = append(r.Metadata.ToolExamples, recipe.ToolExample{
			Name: fmt.Sprintf("tool_%d", n), Description: strings.Join(words(12), " "),
		})
	}
	return r
}

// floor creates recipes as any client does, as many at a time as a seed, in a
// namespace that nobody looks at.
func (w *installation) floor(t *testing.T, source string, recipes int) string {
	t.Helper()
	const most, writers = 1000, 16
	objects := min(recipes, most)
	namespace := testenv.Namespace(t, w.Client)
	var group errgroup.Group
	group.SetLimit(writers)
	began := time.Now()
	for i := range objects {
		group.Go(func() error {
			b, err := os.ReadFile(filepath.Join(source, nameOf(i)+".json"))
			if err != nil {
				return err
			}
			d, err := recipe.Parse(b)
			if err != nil {
				return err
			}
			o := &v1alpha1.CatalogRecipe{Spec: v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: d.Recipe}, Owner: catalog.SeedOwner}}
			o.Namespace, o.Name = namespace, d.Recipe.ID
			return w.Client.Create(t.Context(), o)
		})
	}
	must.Succeed(t, group.Wait())
	return fmt.Sprintf("%.0f a second", float64(objects)/time.Since(began).Seconds())
}
