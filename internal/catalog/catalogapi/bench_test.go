// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// manyRecipes is how many a large catalog has.
const manyRecipes = 10_000

// BenchmarkReads answers reads of a large catalog, without a connection.
func BenchmarkReads(b *testing.B) {
	store := newFakeStore(b)
	entries := make([]catalog.Entry, manyRecipes)
	for i := range entries {
		name := fmt.Sprintf("recipe-%05d", i)
		doc, found := validate.Parse([]byte(recipeOf(name, "1.0.0", `"metadata":{"category":"tools","tags":["first"]}`)), validate.Checks{})
		if len(found) > 0 {
			b.Fatal(found)
		}
		source := catalog.SourceOf(doc.Recipe)
		entries[i] = catalog.Entry{
			Name: name, Recipe: doc.Recipe, Accepted: true, Created: today, Updated: today, Revision: name,
			Versions: []catalog.Version{{Version: "1.0.0", Digest: catalog.Digest(source), At: today, Recipe: doc.Recipe, Source: source}},
		}
	}
	store.snapshot = search.NewSnapshot(entries, nil)
	a := must.Value(New(Options{Store: store, Log: slog.New(slog.DiscardHandler)}))(b)
	for name, read := range map[string]struct {
		target string
		handle func(httpapi.Call) error
	}{
		"list":       {"/recipes?sort=name", a.list},
		"filtered":   {"/recipes?category=tools&limit=100", a.list},
		"search":     {"/search?q=server+recipe-0", a.search},
		"mcp-bridge": {"/api/recipes", a.listForMCPBridge},
		"registry":   {"/v0.1/servers?search=recipe-0999", a.registryList},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				c := &call{rw: w, r: httptest.NewRequest(http.MethodGet, read.target, nil)}
				if err := read.handle(c); err != nil || w.Code != http.StatusOK {
					b.Fatal(err, w.Code)
				}
			}
		})
	}
}
