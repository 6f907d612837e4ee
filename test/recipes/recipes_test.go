// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipes checks the recipes that are shipped, config/recipes, as the
// catalog checks what others publish, and more strictly.
package recipes

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const folder = "../../config/recipes"

// fewest is how many recipes a new installation begins with, at least.
const fewest = 70

// each runs a test for each recipe that is shipped.
func each(t *testing.T, test func(t *testing.T, id string, content []byte)) {
	t.Helper()
	entries := must.Value(os.ReadDir(folder))(t)
	if len(entries) < fewest {
		t.Errorf("%d recipes, fewer than %d", len(entries), fewest)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			content := must.Value(os.ReadFile(filepath.Join(folder, e.Name(), "recipe.json")))(t)
			test(t, e.Name(), content)
		})
	}
}

func mustParse(t *testing.T, id string, content []byte) recipe.Document {
	t.Helper()
	d, problems := validate.Parse(content, validate.Checks{Name: id})
	for _, p := range problems {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return d
}

func TestTheCatalogTakesEachRecipeWithoutAWarning(t *testing.T) {
	each(t, func(t *testing.T, id string, content []byte) {
		d := mustParse(t, id, content)
		if d.Format != recipe.V2 {
			t.Errorf("written as %s, want %s", d.Format, recipe.V2)
		}
		verified, err := time.Parse(time.DateOnly, d.Recipe.Metadata.LastVerified)
		if err != nil {
			t.Errorf("metadata.lastVerified: %v", err)
		}
		// Age is what make check-recipes looks at: a test that fails on some
		// day in the future tells nothing about a change.
		for _, w := range append(d.Warnings, recipe.Warnings(d.Recipe, verified)...) {
			t.Error(w)
		}
	})
}

func TestEachRecipeSaysWhatACatalogShowsAndFilters(t *testing.T) {
	each(t, func(t *testing.T, id string, content []byte) {
		r := mustParse(t, id, content).Recipe
		m := r.Metadata
		for field, given := range map[string]bool{
			"recipeVersion":        r.RecipeVersion != "",
			"metadata.homepage":    m.Homepage != "",
			"metadata.author":      m.Author != "",
			"metadata.tags":        len(m.Tags) >= 2,
			"metadata.category":    m.Category != "",
			"metadata.origin":      m.Origin != "",
			"metadata.sideEffects": m.SideEffects != "",
			"metadata.authSummary": m.AuthSummary != "",
			"auth":                 r.Auth != nil,
		} {
			if !given {
				t.Errorf("%s is missing", field)
			}
		}
		if a := r.Auth; a != nil && a.Required && a.CredentialsURL == "" && a.Instructions == "" {
			t.Error("auth says neither where nor how a person gets the credentials")
		}
	})
}

func TestEachTransportMakesAServerThatABridgeTakes(t *testing.T) {
	each(t, func(t *testing.T, id string, content []byte) {
		r := mustParse(t, id, content).Recipe
		used := map[string]bool{}
		for _, transport := range r.Transports {
			alone := r
			alone.Transports = []recipe.Transport{transport}
			c := must.Value(recipe.Convert(alone, recipe.Choice{Platform: "linux"}))(t)
			// As bridge add writes it, and bridge serve reads it.
			file := laptop.File{Servers: jsondoc.Ordered[laptop.Server]{{Name: id, Value: laptop.FromConfig(c.Server)}}}
			if _, err := file.Config("b", func(string) (string, bool) { return "", false }); err != nil {
				t.Errorf("%s: %v", transport.Type, err)
			}
			for _, s := range c.Secrets {
				used[s.Name] = true
			}
			login := c.Server.OAuth != nil && c.Server.OAuth.Grant == bridgeconfig.AuthorizationCode
			if steps := len(c.Steps); steps > 0 && !login || steps > 1 {
				t.Errorf("%s: a person would have to: %q", transport.Type, c.Steps)
			}
		}
		for _, name := range r.Auth.EnvVars {
			if !used[name] {
				t.Errorf("auth.envVars names %s, which no transport uses", name)
			}
		}
	})
}

func TestEachRemoteServerSaysFromWhichPagesItsFactsAre(t *testing.T) {
	each(t, func(t *testing.T, id string, content []byte) {
		r := mustParse(t, id, content).Recipe
		remote := slices.ContainsFunc(r.Transports, func(t recipe.Transport) bool { return t.Type != recipe.Stdio })
		m := r.Metadata
		if remote && (len(m.Sources) == 0 || m.Checked == "") || m.Checked != "" && len(m.Sources) == 0 {
			t.Error("metadata.sources and metadata.checked say neither from where its facts are nor whether it was called")
		}
		for _, page := range m.Sources {
			if !strings.HasPrefix(page, "https://") {
				t.Errorf("%s is no public page", page)
			}
		}
	})
}

func TestEachRecipeComesBackFromTheAPIAsItWas(t *testing.T) {
	each(t, func(t *testing.T, id string, content []byte) {
		r := mustParse(t, id, content).Recipe
		back := catalogtest.Stored(t, r)
		if diff := cmp.Diff(values(t, r), values(t, back)); diff != "" {
			t.Errorf("(-file +API):\n%s", diff)
		}
	})
}

// values returns a recipe as JSON without the order of its variables and
// headers, which the API does not keep.
func values(t *testing.T, r recipe.Recipe) any {
	t.Helper()
	b := must.Value(json.Marshal(r))(t)
	var v any
	must.Succeed(t, json.Unmarshal(b, &v))
	return v
}

func TestEachFileIsIndentedByTwoSpaces(t *testing.T) {
	each(t, func(t *testing.T, _ string, content []byte) {
		var want bytes.Buffer
		must.Succeed(t, json.Indent(&want, bytes.TrimSpace(content), "", "  "))
		want.WriteByte('\n')
		if diff := cmp.Diff(want.String(), string(content)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWhatNeedsTheMachineIsNotHosted(t *testing.T) {
	// These read folders or drive programs of the machine they run on.
	local := []string{"chrome-devtools", "eslint", "filesystem", "git", "kubernetes", "mcpvault", "nx", "playwright"}
	each(t, func(t *testing.T, id string, content []byte) {
		if got := mustParse(t, id, content).Recipe.LocalOnly.All; got != slices.Contains(local, id) {
			t.Errorf("localOnly is %t", got)
		}
	})
}
