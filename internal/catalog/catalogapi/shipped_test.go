// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// shipped serves the recipes of config/recipes, as an installation that has
// just been made.
func shipped(t *testing.T, options ...func(*Options)) *world {
	t.Helper()
	files, err := filepath.Glob("../../../config/recipes/*/recipe.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recipes, %v", len(files), err)
	}
	var entries []catalog.Entry
	for _, file := range files {
		b := must.Value(os.ReadFile(file))(t)
		d, err := recipe.Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		entries = append(entries, catalogtest.Accepted(d.Recipe, 1))
	}
	w := newWorld(t, options...)
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.snapshot = search.NewSnapshot(entries, nil)
	return w
}

// TestPeopleFindWhatTheyLookFor holds what the first results of searches are, in
// the catalog as it is shipped. A recipe that belongs before these may change the
// table.
func TestPeopleFindWhatTheyLookFor(t *testing.T) {
	w := shipped(t)
	for query, want := range map[string][]string{
		"notion":                  {"notion"},
		"linear":                  {"linear"},
		"gmail":                   {"gmail"},
		"calendar":                {"google-calendar"},
		"google calendar":         {"google-calendar"},
		"drive":                   {"google-drive"},
		"google drive":            {"google-drive"},
		"slack":                   {"slack", "slack-official"},
		"jira":                    {"atlassian", "atlassian-rovo"},
		"figma":                   {"figma"},
		"stripe":                  {"stripe"},
		"sentry":                  {"sentry"},
		"read mail":               {"gmail"},
		"my emails":               {"gmail"},
		"inbox":                   {"gmail"},
		"send a message in slack": {"slack", "slack-official"},
		"create a calendar event": {"google-calendar"},
		"schedule meetings":       {"google-calendar"},
		"tickets":                 {"atlassian", "atlassian-rovo", "intercom", "linear"},
		"wiki":                    {"atlassian", "atlassian-rovo", "notion"},
		"confluence":              {"atlassian", "atlassian-rovo"},
		"pull requests":           {"github"},
		"payments":                {"paypal", "square", "stripe"},
		"crm":                     {"hubspot"},
		"todo":                    {"todoist"},
		"on-call incident":        {"pagerduty"},
		"design mockups":          {"figma"},
		"postgres":                {"neon"},
		"canva":                   {"canva"},
		"deploy a website":        {"netlify"},
		"Asana":                   {"asana"},
		"zapier automations":      {"zapier"},
	} {
		t.Run(query, func(t *testing.T) {
			got := names(t, w.get("/search?q="+url.QueryEscape(query)), "recipes")
			if len(got) < len(want) {
				t.Fatalf("found %v, want %v", got, want)
			}
			first := slices.Sorted(slices.Values(got[:len(want)]))
			if diff := cmp.Diff(want, first); diff != "" {
				t.Errorf("%s\nall: %v", diff, got)
			}
		})
	}
	for query, want := range map[string][]string{
		"docs":      {"cloudflare-docs", "google-drive", "notion"},
		"documents": {"google-drive", "notion"},
		"issues":    {"github", "linear", "sentry"},
	} {
		got := names(t, w.get("/search?limit=20&q="+url.QueryEscape(query)), "recipes")
		for _, id := range want {
			if !slices.Contains(got, id) {
				t.Errorf("%q does not find %s: %v", query, id, got)
			}
		}
	}
	for _, query := range []string{"xyzzy", "mail xyzzy", "read xyzzy"} {
		if got := names(t, w.get("/search?q="+url.QueryEscape(query)), "recipes"); len(got) > 0 {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

// TestTheSearchesOfTheDocumentationFindSomething runs the reads that
// docs/operations/catalog.md shows.
func TestTheSearchesOfTheDocumentationFindSomething(t *testing.T) {
	page := must.Value(os.ReadFile("../../../docs/operations/catalog.md"))(t)
	w := shipped(t)
	asked := 0
	for _, found := range regexp.MustCompile(`(?m)^curl "\$URL(/[^"]*\?[^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(found[1], "dryRun") {
			continue
		}
		asked++
		got := w.get(found[1])
		var list struct {
			Recipes, Results, Servers []json.RawMessage
		}
		got.into(t, &list)
		if got.status != http.StatusOK || len(list.Recipes)+len(list.Results)+len(list.Servers) == 0 {
			t.Errorf("%s: %d %s", found[1], got.status, got.body)
		}
	}
	if asked < 5 {
		t.Errorf("the page shows %d searches", asked)
	}
}

func TestAListSaysWhichRecipesWereOnlyRead(t *testing.T) {
	w := shipped(t)
	var list struct {
		Recipes []search.Summary
	}
	w.get("/search?q=notion").into(t, &list)
	if len(list.Recipes) == 0 || list.Recipes[0].Checked != recipe.CheckedRead {
		t.Errorf("found %+v", list.Recipes)
	}
	var one struct {
		Metadata recipe.Metadata
	}
	w.get("/recipes/notion").into(t, &one)
	if one.Metadata.Checked != recipe.CheckedRead || len(one.Metadata.Sources) == 0 {
		t.Errorf("the recipe says %+v", one.Metadata)
	}
}

// TestTheInstallationSignsItsOwnRecipes downloads recipes as bridge add does.
func TestTheInstallationSignsItsOwnRecipes(t *testing.T) {
	signer := must.Value(recipe.ReadSigner([]byte("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n")))(t)
	w := shipped(t, func(o *Options) { o.Signer = signer })
	var said struct{ PublisherID, PublicKey string }
	keyed := w.get("/catalog-key")
	keyed.into(t, &said)
	key, err := recipe.ParseKey(said.PublicKey)
	if err != nil || said.PublisherID != catalog.SeedOwner {
		t.Fatalf("%s: %v", keyed.body, err)
	}
	verify := func(key ed25519.PublicKey) error {
		got := w.get("/api/recipes/notion/download")
		d, err := recipe.Parse([]byte(got.body))
		if err != nil {
			t.Fatalf("%v: %s", err, got.body)
		}
		if d.Recipe.Signature.PublisherID != catalog.SeedOwner || d.Recipe.Signature.SignedAt != "2026-01-02T03:05:05.000Z" {
			t.Errorf("signed by %+v", d.Recipe.Signature)
		}
		return recipe.Verify(d.Source, key)
	}
	if err := verify(key); err != nil {
		t.Error(err)
	}
	first, again := w.get("/api/recipes/notion/download"), w.get("/api/recipes/notion/download")
	if first.body != again.body || first.header.Get("ETag") != again.header.Get("ETag") || first.header.Get("ETag") == w.get("/api/recipes/notion").header.Get("ETag") {
		t.Errorf("the same version is signed in two ways, or has the ETag of what is not signed: %s", first.header.Get("ETag"))
	}
	if got := w.get("/api/recipes/notion/download", "If-None-Match", first.header.Get("ETag")); got.status != http.StatusNotModified {
		t.Errorf("it is sent again: %d", got.status)
	}
	other, _ := catalogtest.Key(9)
	if err := verify(other); err == nil {
		t.Error("another key verifies it")
	}
}

// TestARecipeOfAPublisherIsNotSignedByTheInstallation holds also that an
// installation without a key says so.
func TestARecipeOfAPublisherIsNotSignedByTheInstallation(t *testing.T) {
	signer := must.Value(recipe.ReadSigner([]byte("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=")))(t)
	w := newWorld(t, func(o *Options) { o.Signer = signer })
	if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), w.publisher("acme")...); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.get("/api/recipes/notes/download"); strings.Contains(got.body, "signature") {
		t.Errorf("signed: %s", got.body)
	}
	without := newWorld(t)
	if got := without.get("/catalog-key"); got.status != http.StatusNotFound || got.code() != "catalog_key_not_found" {
		t.Errorf("%d %s", got.status, got.body)
	}
	file := filepath.Join(t.TempDir(), "key")
	for _, path := range []string{"", file} {
		if s, err := OpenSigner(path, slog.New(slog.DiscardHandler)); s != nil || err != nil {
			t.Errorf("without a key: %v, %v", s, err)
		}
	}
	for _, text := range []string{"", "AAAA", "c4n4ry!"} {
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := OpenSigner(file, slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%q was read as a key: %v", text, err)
		}
	}
}

// TestListsAndRecipesSayWhatRunsHere has an operator that cannot run one of two
// recipes.
func TestListsAndRecipesSayWhatRunsHere(t *testing.T) {
	w := newWorld(t)
	runs, not, unknown := catalogtest.Accepted(catalogtest.Recipe("runs"), 1), catalogtest.Accepted(catalogtest.Recipe("not"), 1), catalogtest.Accepted(catalogtest.Recipe("unknown"), 1)
	runs.Here, not.Here = &catalog.Here{Runs: true}, &catalog.Here{Reason: "NotHostable", Why: "the installation has no image with npx"}
	w.store.mu.Lock()
	w.store.snapshot = search.NewSnapshot([]catalog.Entry{runs, not, unknown}, nil)
	w.store.mu.Unlock()
	for target, want := range map[string][]string{
		"/recipes?sort=name":            {"not", "runs", "unknown"},
		"/recipes?here=true":            {"runs"},
		"/recipes?here=false&sort=name": {"not", "unknown"},
		"/search?q=server&here=true":    {"runs"},
	} {
		if diff := cmp.Diff(want, names(t, w.get(target), "recipes")); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
	if got := w.get("/recipes?here=maybe"); got.status != http.StatusBadRequest || !strings.Contains(got.body, "here must be true or false") {
		t.Errorf("%d %s", got.status, got.body)
	}
	var list struct{ Recipes []search.Summary }
	w.get("/recipes?here=false&sort=name").into(t, &list)
	if diff := cmp.Diff(not.Here, list.Recipes[0].Here); diff != "" || list.Recipes[1].Here != nil {
		t.Errorf("in the list: %s%+v", diff, list.Recipes[1].Here)
	}
	var one struct{ Catalog catalog.Listing }
	w.get("/recipes/not").into(t, &one)
	if diff := cmp.Diff(not.Here, one.Catalog.Here); diff != "" {
		t.Errorf("in the recipe: %s", diff)
	}
}
