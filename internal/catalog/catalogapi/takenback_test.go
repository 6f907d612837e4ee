// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

// edit changes a recipe's object as an administrator does with kubectl.
func (w *world) edit(name string, change func(*v1alpha1.CatalogRecipeSpec)) {
	w.t.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	o := w.store.recipes[name].DeepCopy()
	change(&o.Spec)
	o.Generation++
	w.store.recipes[name] = o
	w.store.refresh()
}

// TestWhatAnAdministratorTookBackItsOwnerDoesNotBringBack takes a recipe from
// those who run it, before and after its owner deleted it.
func TestWhatAnAdministratorTookBackItsOwnerDoesNotBringBack(t *testing.T) {
	for name, deleted := range map[string]bool{"a recipe": false, "one that its owner deleted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			acme, other := w.publisher("acme"), w.publisher("other")
			if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), acme...); got.status != http.StatusCreated {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if deleted {
				w.do(http.MethodDelete, "/recipes/notes", "", acme...)
			}
			w.edit("notes", func(s *v1alpha1.CatalogRecipeSpec) { s.Recipe, s.Deleted = nil, nil })
			w.told()
			before := w.store.writes
			for act, test := range map[string]struct {
				method, path, body string
				header             []string
				status             int
				code               string
			}{
				"replaced":     {"PUT", "/recipes/notes", recipeOf("notes", "1.0.1"), header(acme, match("*")), 409, "recipe_taken_back"},
				"deleted":      {"DELETE", "/recipes/notes", "", acme, 409, "recipe_taken_back"},
				"deprecated":   {"PUT", "/recipes/notes/deprecation", "{}", acme, 409, "recipe_taken_back"},
				"made anew":    {"POST", "/recipes", recipeOf("notes", "1.0.1"), acme, 409, "recipe_taken_back"},
				"only tried":   {"PUT", "/recipes/notes?dryRun=All", recipeOf("notes", "1.0.1"), header(acme, match("*")), 409, "recipe_taken_back"},
				"by a thief":   {"POST", "/recipes", recipeOf("notes", "1.0.1"), other, 409, "name_taken"},
				"read":         {"GET", "/recipes/notes", "", nil, 404, "recipe_not_found"},
				"another's":    {"PUT", "/recipes/notes", recipeOf("notes", "1.0.1"), header(other, match("*")), 403, "not_owner"},
				"none of them": {"DELETE", "/recipes/memo", "", acme, 404, "recipe_not_found"},
			} {
				if got := w.do(test.method, test.path, test.body, test.header...); got.status != test.status || got.code() != test.code {
					t.Errorf("%s: %d %s", act, got.status, got.body)
				}
			}
			if told := w.told(); len(told) != 0 || w.store.writes != before {
				t.Errorf("%d writes, audited: %+v", w.store.writes-before, told)
			}
			if got := w.admin(http.MethodDelete, "/admin/recipes/notes", ""); got.status != http.StatusNoContent {
				t.Fatalf("free: %d %s", got.status, got.body)
			}
			if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), acme...); got.status != http.StatusCreated {
				t.Errorf("a name that is free: %d %s", got.status, got.body)
			}
		})
	}
}

// staleStore shows a catalog that was, and nothing after it.
type staleStore struct {
	Store

	was *search.Snapshot
}

// Current implements Store.
func (s *staleStore) Current() *search.Snapshot {
	if s.was != nil {
		return s.was
	}
	return s.Store.Current()
}

// TestAReplicaThatIsBehindBringsNoOldVersionBack publishes over what was deleted
// through a replica that knows the recipe as it was before, or not at all.
func TestAReplicaThatIsBehindBringsNoOldVersionBack(t *testing.T) {
	var store *staleStore
	w := newWorld(t, func(o *Options) {
		store = &staleStore{Store: o.Store}
		o.Store = store
	})
	acme := w.publisher("acme")
	nothing := w.store.Current()
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "2.0.0"), acme...)
	served := w.store.Current()
	if got := w.do(http.MethodDelete, "/recipes/notes", "", acme...); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for name, was := range map[string]*search.Snapshot{"that it is served": served, "nothing of it": nothing} {
		for _, query := range []string{"?dryRun=All", ""} {
			store.was = was
			got := w.do(http.MethodPost, "/recipes"+query, recipeOf("notes", "1.0.0"), acme...)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "must be higher than 2.0.0") {
				t.Errorf("it knows %s: %d %s", name, got.status, got.body)
			}
		}
	}
	store.was = nil
	if got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "2.0.1"), acme...); got.status != http.StatusCreated {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestAnEmptyIfMatchIsNotAny sends what a shell makes of a variable that is not
// set.
func TestAnEmptyIfMatchIsNotAny(t *testing.T) {
	w := newWorld(t)
	acme := w.publisher("acme")
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), acme...)
	for _, tag := range []string{`""`, `"*"`, ``, ` `} {
		for _, act := range []struct{ method, path, body string }{
			{"DELETE", "/recipes/notes", ""},
			{"PUT", "/recipes/notes", recipeOf("notes", "1.0.1")},
			{"PUT", "/recipes/notes/deprecation", "{}"},
		} {
			if got := w.do(act.method, act.path, act.body, header(acme, match(tag))...); got.status != http.StatusBadRequest || got.code() != "if_match_invalid" {
				t.Errorf("%s %s with If-Match %q: %d %s", act.method, act.path, tag, got.status, got.body)
			}
		}
		admin := header([]string{"Authorization", "Bearer admin"}, match(tag))
		if got := w.do("DELETE", "/admin/recipes/notes", "", admin...); got.code() != "if_match_invalid" {
			t.Errorf("an administrator with If-Match %q: %d %s", tag, got.status, got.body)
		}
	}
	if got := w.do("DELETE", "/recipes/notes", "", header(acme, match("*"))...); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
}
