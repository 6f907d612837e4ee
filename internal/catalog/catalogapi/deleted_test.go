// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// TestADeletedRecipeKeepsItsNameAndItsPast deletes a recipe and looks for a way
// around what a change by PUT would have to obey.
func TestADeletedRecipeKeepsItsNameAndItsPast(t *testing.T) {
	w := newWorld(t)
	acme, other := w.publisher("acme"), w.publisher("other")
	if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "2.0.0"), acme...); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.do(http.MethodDelete, "/recipes/notes", "", acme...); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.told()
	for name, test := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		says               string
	}{
		"read":                          {"GET", "/recipes/notes", "", nil, 404, "recipe_not_found"},
		"its versions":                  {"GET", "/recipes/notes/versions/2.0.0", "", nil, 404, "recipe_not_found"},
		"listed":                        {"GET", "/recipes", "", nil, 200, `"total":0`},
		"another publisher's":           {"POST", "/recipes", recipeOf("notes", "3.0.0"), other, 409, "name_taken"},
		"replaced":                      {"PUT", "/recipes/notes", recipeOf("notes", "3.0.0"), header(acme, match("*")), 404, "by POST"},
		"deprecated":                    {"PUT", "/recipes/notes/deprecation", "{}", acme, 404, "recipe_not_found"},
		"deleted again":                 {"DELETE", "/recipes/notes", "", acme, 404, "recipe_not_found"},
		"an older version":              {"POST", "/recipes", recipeOf("notes", "1.0.0"), acme, 422, "must be higher than 2.0.0"},
		"another content of the same":   {"POST", "/recipes", recipeOf("notes", "2.0.0", `"multiInstance":true`), acme, 422, "must be higher than 2.0.0"},
		"an overlay":                    {"PUT", "/admin/recipes/notes/quality", "{}", []string{"Authorization", "Bearer publisher"}, 401, ""},
		"freed by its owner":            {"DELETE", "/admin/recipes/notes", "", acme, 401, ""},
		"freed, only tried":             {"DELETE", "/admin/recipes/notes?dryRun=All", "", []string{"Authorization", "Bearer admin"}, 204, ""},
		"freed under another revision":  {"DELETE", "/admin/recipes/notes", "", header([]string{"Authorization", "Bearer admin"}, match(`"x"`)), 412, "revision_changed"},
		"a name that nobody has, freed": {"DELETE", "/admin/recipes/memo", "", []string{"Authorization", "Bearer admin"}, 404, "recipe_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.do(test.method, test.path, test.body, test.header...); got.status != test.status || !strings.Contains(got.body, test.says) {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	if got := w.told(); len(got) != 0 {
		t.Errorf("audited: %+v", got)
	}
	if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "2.1.0"), acme...); got.status != http.StatusCreated || !strings.Contains(got.body, `"state":"served"`) {
		t.Errorf("what goes on: %d %s", got.status, got.body)
	}
	if got := w.get("/recipes/notes/versions"); !strings.Contains(got.body, "2.0.0") || !strings.Contains(got.body, "2.1.0") {
		t.Errorf("its past: %s", got.body)
	}

	w.do(http.MethodDelete, "/recipes/notes", "", acme...)
	w.told()
	if got := w.admin(http.MethodDelete, "/admin/recipes/notes", ""); got.status != http.StatusNoContent {
		t.Fatalf("free: %d %s", got.status, got.body)
	}
	if diff := cmp.Diff([]httpapi.Act{{Name: "recipes.delete", Target: "notes"}}, w.told()); diff != "" {
		t.Error(diff)
	}
	if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), other...); got.status != http.StatusCreated {
		t.Errorf("a name that is free: %d %s", got.status, got.body)
	}
}
