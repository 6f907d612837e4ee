// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogtest makes recipes, objects and entries for tests.
package catalogtest

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Start is when the tests' catalog began.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Recipe returns a valid recipe.
func Recipe(id string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Server " + id, Description: "Does something",
		Repository: "https://example.com/" + id, RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/" + id + "@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/" + id, Version: "1.2.3"},
	}
}

// Accepted returns the entry of a recipe that is served.
func Accepted(r recipe.Recipe, minutes int) catalog.Entry {
	at := Start.Add(time.Duration(minutes) * time.Minute)
	e := catalog.Entry{
		Name: r.ID, Owner: catalog.SeedOwner, Recipe: r, Created: Start, Updated: at, Accepted: true,
		Versions: []catalog.Version{{Version: r.RecipeVersion, At: at, Recipe: r, Source: catalog.SourceOf(r), Digest: catalog.Digest(catalog.SourceOf(r))}},
	}
	e.Revision = catalog.RevisionOf(&v1alpha1.CatalogRecipe{}, e)
	return e
}

// Object returns a CatalogRecipe that was not checked yet.
func Object(r recipe.Recipe) *v1alpha1.CatalogRecipe {
	o := &v1alpha1.CatalogRecipe{}
	o.Name, o.CreationTimestamp = r.ID, metav1.NewTime(Start)
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	return o
}

// Stored returns a recipe as an object has it after it was written and read: the API
// server sorts all members.
func Stored(t *testing.T, r recipe.Recipe) recipe.Recipe {
	t.Helper()
	var read v1alpha1.Recipe
	written, err := jsondoc.Encode(v1alpha1.Recipe{Recipe: r})
	if err == nil {
		err = json.Unmarshal(written.AppendCanonical(nil), &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read.Recipe
}

// EntryOf returns the entry of an object.
func EntryOf(t *testing.T, o *v1alpha1.CatalogRecipe) catalog.Entry {
	t.Helper()
	e, err := catalog.EntryOf(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Remote returns the transport of a remote server.
func Remote(url string) recipe.Transport {
	return recipe.Transport{Type: recipe.StreamableHTTP, URL: url}
}

// Key returns a key pair that is the same in each run.
func Key(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

// Entries returns that many recipes, of some 2 KiB each, with few frequent and
// many rare words, as in a language.
func Entries(n int) []catalog.Entry {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The same texts in each run.
	zipf := rand.NewZipf(random, 1.1, 3, 20_000)
	words := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("w%dord", zipf.Uint64())
		}
		return strings.Join(out, " ")
	}
	entries := make([]catalog.Entry, n)
	for i := range entries {
		r := Recipe(fmt.Sprintf("server-%05d", i))
		r.Description = words(40)
		r.Metadata.Tags = strings.Fields(words(6))
		r.Metadata.Category = []string{"data", "search", "development", "finance"}[i%4]
		for range 8 {
			r.Metadata.ToolExamples = append(r.Metadata.ToolExamples, recipe.ToolExample{Name: words(1), Description: words(12)})
		}
		entries[i] = Accepted(r, i)
	}
	return entries
}
