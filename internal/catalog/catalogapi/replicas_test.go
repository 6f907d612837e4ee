// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

// lateStore learns of something when somebody waits for it first.
type lateStore struct {
	Store

	late func()
}

// Changed implements Store.
func (s *lateStore) Changed() <-chan struct{} {
	if late := s.late; late != nil {
		s.late = nil
		late()
	}
	return s.Store.Changed()
}

func TestAReplicaThatIsBehindWaitsForWhatItsOwnerPublished(t *testing.T) {
	var store *lateStore
	w := newWorld(t, func(o *Options) {
		store = &lateStore{Store: o.Store}
		o.Store = store
	})
	key := w.publisher("acme")
	publish := func() {
		doc, found := validate.Parse([]byte(recipeOf("notes", "1.0.0")), validate.Checks{})
		if len(found) > 0 {
			t.Error(found)
		}
		if _, err := w.store.CreateRecipe(t.Context(), first(catalog.Draft{Name: "notes", Owner: "acme", Recipe: doc.Recipe})); err != nil {
			t.Error(err)
		}
	}
	for _, write := range []struct{ method, path, body string }{
		{http.MethodPut, "/recipes/notes", recipeOf("notes", "1.1.0")},
		{http.MethodPut, "/recipes/notes/deprecation", "{}"},
		{http.MethodDelete, "/recipes/notes", ""},
	} {
		store.late = publish
		if got := w.do(write.method, write.path, write.body, append(key, "If-Match", "*")...); got.status >= http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", write.method, write.path, got.status, got.body)
		}
		w.admin(http.MethodDelete, "/admin/recipes/notes", "")
	}
	if got := w.do(http.MethodPut, "/recipes/there-is-none", recipeOf("there-is-none", "1.0.0"), append(key, "If-Match", "*")...); got.code() != "recipe_not_found" {
		t.Errorf("what there is not: %d %s", got.status, got.body)
	}
}
