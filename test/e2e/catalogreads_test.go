// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// seededRecipes returns the files of the recipes that the installation brings, by
// name.
func seededRecipes(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../config/recipes/*/recipe.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recipes: %v", len(files), err)
	}
	recipes := map[string]string{}
	for _, file := range files {
		recipes[filepath.Base(filepath.Dir(file))] = file
	}
	return recipes
}

// listed is a page of recipes.
type listed struct {
	Recipes []struct {
		ID, Owner, Category, Revision string
		Tags                          []string
		Transports                    []string
		Verified, HostedSafe          bool
		Here                          catalog.Here
	}
	Total int
	Next  string
}

func catalogIsRead(t *testing.T) {
	c := newCurl("")
	everySeededRecipeIsServed(t, c)
	t.Run("filters and orders", func(t *testing.T) { catalogIsFiltered(t, c) })
	t.Run("again, only if it changed", func(t *testing.T) { catalogIsReadAgain(t, c) })
	t.Run("in the shapes of others", func(t *testing.T) { catalogInOtherShapes(t, c) })
}

// everySeededRecipeIsServed pages through the list, and downloads each recipe.
func everySeededRecipeIsServed(t *testing.T, c curl) {
	t.Helper()
	served := map[string]bool{}
	for path := "/recipes?owner=seed&sort=name&limit=25"; ; {
		var page listed
		c.must(t, http.StatusOK, http.MethodGet, path, "").into(t, &page)
		for _, r := range page.Recipes {
			if served[r.ID] {
				t.Errorf("%s is on two pages", r.ID)
			}
			served[r.ID] = true
		}
		if page.Next == "" {
			break
		}
		path = "/recipes?owner=seed&sort=name&limit=25&cursor=" + page.Next
	}
	seeded := seededRecipes(t)
	if len(served) != len(seeded) {
		t.Errorf("%d recipes are served, want %d", len(served), len(seeded))
	}
	var said struct{ PublicKey string }
	c.must(t, http.StatusOK, http.MethodGet, "/catalog-key", "").into(t, &said)
	key := must.Value(recipe.ParseKey(said.PublicKey))(t)
	for name, file := range seeded {
		content := must.Value(os.ReadFile(file))(t)
		want := must.Value(recipe.Parse(content))(t)
		a := c.must(t, http.StatusOK, http.MethodGet, "/api/recipes/"+name+"/download", "")
		got, err := recipe.Parse(a.body)
		if err == nil {
			err = recipe.Verify(got.Source, key)
		}
		got.Recipe.Signature = nil // The installation's.
		if err != nil || !served[name] || !catalog.Same(got.Recipe, want.Recipe) {
			t.Errorf("%s: listed %t, error %v, or it is another recipe", name, served[name], err)
		}
	}
}

func catalogIsFiltered(t *testing.T, c curl) {
	for query, fits := range map[string]func(listed) bool{
		"category=productivity": func(l listed) bool { return l.Recipes[0].Category == "productivity" },
		"tag=database":          func(l listed) bool { return strings.Contains(strings.Join(l.Recipes[0].Tags, " "), "database") },
		"transport=stdio":       func(l listed) bool { return strings.Contains(strings.Join(l.Recipes[0].Transports, " "), "stdio") },
		"verified=false":        func(l listed) bool { return !l.Recipes[0].Verified },
		"hostedSafe=true":       func(l listed) bool { return l.Recipes[0].HostedSafe },
		"here=true":             func(l listed) bool { return l.Recipes[0].Here.Runs },
		"here=false":            func(l listed) bool { return l.Recipes[0].Here.Why != "" },
		"sort=name":             func(l listed) bool { return l.Recipes[0].ID <= l.Recipes[1].ID },
		"sort=popular":          func(l listed) bool { return len(l.Recipes) == 20 },
		"sort=updated":          func(l listed) bool { return len(l.Recipes) == 20 },
		"sort=quality":          func(l listed) bool { return len(l.Recipes) == 20 },
		"limit=3":               func(l listed) bool { return len(l.Recipes) == 3 && l.Next != "" },
	} {
		var page listed
		c.must(t, http.StatusOK, http.MethodGet, "/recipes?"+query, "").into(t, &page)
		if page.Total == 0 || len(page.Recipes) == 0 || !fits(page) {
			t.Errorf("%s: %+v", query, page)
		}
	}
	var page listed
	if c.must(t, http.StatusOK, http.MethodGet, "/search?q=airtab", "").into(t, &page); len(page.Recipes) == 0 || page.Recipes[0].ID != "airtable" {
		t.Errorf("a word that is begun finds %+v", page)
	}
}

// catalogIsReadAgain reads what no other test writes meanwhile.
func catalogIsReadAgain(t *testing.T, c curl) {
	for _, path := range []string{"/recipes/aws-knowledge", "/recipes/aws-knowledge/versions", "/recipes/aws-knowledge/versions/1.0.1", "/recipes?owner=seed&q=aws-knowledge", "/openapi.json"} {
		first := c.must(t, http.StatusOK, http.MethodGet, path, "")
		tag := first.header.Get("Etag")
		again := c.must(t, http.StatusNotModified, http.MethodGet, path, "", "If-None-Match", `"another", `+tag)
		if tag == "" || len(again.body) > 0 || again.header.Get("Etag") != tag {
			t.Errorf("%s: ETag %q, then %q and %d bytes", path, tag, again.header.Get("Etag"), len(again.body))
		}
		c.must(t, http.StatusOK, http.MethodGet, path, "", "If-None-Match", `"another"`)
		if head := c.must(t, http.StatusOK, http.MethodHead, path, ""); len(head.body) > 0 || head.header.Get("Etag") != tag {
			t.Errorf("HEAD %s: %d bytes, ETag %q", path, len(head.body), head.header.Get("Etag"))
		}
	}
	var r struct {
		ID      string
		Catalog struct{ Owner, Version string }
		Recipe  struct{ ID string }
	}
	if c.must(t, http.StatusOK, http.MethodGet, "/recipes/aws-knowledge", "").into(t, &r); r.ID != "aws-knowledge" || r.Recipe.ID != "aws-knowledge" || r.Catalog.Owner != "seed" {
		t.Errorf("%+v", r)
	}
}

// catalogInOtherShapes reads what mcp-bridge's clients and those of the official
// registry read.
func catalogInOtherShapes(t *testing.T, c curl) {
	var origin struct {
		Results []struct{ ID, Name string }
		Total   int
	}
	c.must(t, http.StatusOK, http.MethodGet, "/api/search?q=airtable", "").into(t, &origin)
	if len(origin.Results) == 0 || origin.Results[0].Name != "airtable" {
		t.Errorf("/api/search: %+v", origin)
	}
	if c.must(t, http.StatusOK, http.MethodGet, "/api/recipes?limit=5", "").into(t, &origin); len(origin.Results) != 5 {
		t.Errorf("/api/recipes: %+v", origin)
	}
	c.must(t, http.StatusOK, http.MethodGet, "/api/recipes/airtable", "")

	type server struct {
		Server struct{ Name, Version string }
	}
	var registry struct {
		Servers  []server
		Metadata struct{ NextCursor string }
	}
	c.must(t, http.StatusOK, http.MethodGet, "/v0.1/servers?limit=2", "").into(t, &registry)
	if len(registry.Servers) != 2 || registry.Metadata.NextCursor == "" {
		t.Fatalf("/v0.1/servers: %+v", registry)
	}
	first := registry.Servers[0].Server
	path := "/v0.1/servers/" + strings.ReplaceAll(first.Name, "/", "%2F") + "/versions"
	if c.must(t, http.StatusOK, http.MethodGet, path, "").into(t, &registry); registry.Servers[0].Server.Name != first.Name {
		t.Errorf("%s: %+v", path, registry)
	}
	for _, version := range []string{"latest", first.Version} {
		var one server
		if c.must(t, http.StatusOK, http.MethodGet, path+"/"+version, "").into(t, &one); one.Server != first {
			t.Errorf("version %s: %+v, want %+v", version, one, first)
		}
	}
}
