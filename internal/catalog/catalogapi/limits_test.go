// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

func TestAPublisherHasSoManyRecipesAndNoMore(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxRecipes = 2 })
	acme, other := w.publisher("acme"), w.publisher("other")
	w.seeded("first", "second", "third")
	post := func(path, name string, key []string) reply {
		return w.do(http.MethodPost, path, recipeOf(name, "1.0.0"), key...)
	}
	for _, name := range []string{"notes", "memo"} {
		if got := post("/recipes", name, acme); got.status != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, got.status, got.body)
		}
	}
	w.told()
	for name, test := range map[string]struct {
		got    reply
		status int
		code   string
	}{
		"one too many":    {post("/recipes", "mail", acme), 409, "recipe_limit_reached"},
		"tried":           {post("/recipes?dryRun=All", "mail", acme), 409, "recipe_limit_reached"},
		"one's own again": {post("/recipes", "memo", acme), 409, "name_taken"},
		"another's":       {post("/recipes", "mail", other), 201, ""},
		"a new version":   {w.do(http.MethodPut, "/recipes/memo", recipeOf("memo", "1.1.0"), header(acme, match("*"))...), 200, ""},
	} {
		if test.got.status != test.status || test.got.code() != test.code {
			t.Errorf("%s: %d %s", name, test.got.status, test.got.body)
		}
	}
	if acts := w.told(); len(acts) != 2 {
		t.Errorf("audited: %+v", acts)
	}
}

func TestWritesAreCountedByPublisherBeforeTheyCostAnything(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.do(http.MethodPost, "/recipes?dryRun=All", recipeOf("notes", "1.0.0"), key...)
	w.do(http.MethodPost, "/recipes?dryRun=All", recipeOf("notes", "1.0.0"), "Authorization", "Bearer pub_x")
	if !slices.Equal(w.admitted, []string{"acme"}) {
		t.Errorf("counted for %q", w.admitted)
	}
	w.busy = true
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		path := map[bool]string{true: "/recipes", false: "/recipes/notes"}[method == http.MethodPost]
		if got := w.do(method, path, `{`, key...); got.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", method, got.status, got.body)
		}
	}
}

func TestAnOverlayThatIsNotTakenIsNoRecipe(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	w.store.fails = &catalog.InvalidError{Problems: []catalog.Problem{{Field: "quality.notes", Code: catalog.CodeInvalid, Message: "is too long"}}}
	got := w.admin(http.MethodPut, "/admin/recipes/alpha/quality", `{"notes":"x"}`)
	if got.status != http.StatusUnprocessableEntity || got.code() != "request_invalid" || !strings.Contains(got.body, "is too long") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if acts := w.told(); len(acts) != 0 {
		t.Errorf("audited: %+v", acts)
	}
}

func TestARecipeWithManyFaultsIsAnsweredInFewBytes(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	text := recipeOf("notes", "1.0.0", `"metadata":{"tags":[`+strings.Repeat("1,", 128_000)+`1]}`)
	got := w.do(http.MethodPost, "/recipes?dryRun=All", text, key...)
	var all struct{ Problems []catalog.Problem }
	got.into(t, &all)
	if got.status != http.StatusUnprocessableEntity || len(all.Problems) != 101 || len(got.body) > 32<<10 {
		t.Errorf("%d with %d problems in %d bytes", got.status, len(all.Problems), len(got.body))
	}
}
