// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/controllers/catalogrecipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// checkRecipes does what the operator does of the catalog in the namespace.
func checkRecipes(t *testing.T, namespace string) {
	t.Helper()
	m, err := ctrl.NewManager(testenv.Config(), ctrl.Options{
		Scheme:  testenv.Scheme(),
		Cache:   cache.Options{ReaderFailOnMissingInformer: true, ByObject: catalogrecipe.CacheOptions(namespace)},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &catalogrecipe.Reconciler{Client: m.GetClient(), Clock: clock.RealClock{}}
	must.Succeed(t, r.Setup(ctx, m))
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// catalogAnswer is an answer of the catalog.
type catalogAnswer struct {
	status int
	etag   string
	body   string
}

// ask makes a request of the catalog, with If-Match where that is not empty.
func (i *installation) ask(method, path, key, ifMatch, body string) catalogAnswer {
	i.t.Helper()
	r := must.Value(http.NewRequestWithContext(i.t.Context(), method, "http://"+i.public+path, strings.NewReader(body)))(i.t)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	if ifMatch != "" {
		r.Header.Set("If-Match", ifMatch)
	}
	res, err := http.DefaultClient.Do(r) //nolint:forbidigo // A test's client.
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	b := must.Value(io.ReadAll(res.Body))(i.t)
	return catalogAnswer{res.StatusCode, res.Header.Get("ETag"), string(b)}
}

// expect fails the test where the answer has another status.
func (i *installation) expect(what string, got catalogAnswer, status int) catalogAnswer {
	i.t.Helper()
	if got.status != status {
		i.t.Fatalf("%s: %d %s, want %d", what, got.status, got.body, status)
	}
	return got
}

// newPublisher returns a key of a new publisher, and its id.
func (i *installation) newPublisher(id string) (key, keyID string) {
	i.t.Helper()
	var made struct{ Key, KeyID string }
	got := i.expect("create a publisher", i.ask("POST", "/admin/publishers", testAdminKey, "", `{"id":"`+id+`","expires":"30d"}`), http.StatusCreated)
	must.Succeed(i.t, json.Unmarshal([]byte(got.body), &made))
	return made.Key, made.KeyID
}

func notesRecipe(version string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","repository":"https://example.com/notes","recipeVersion":%q,
		"transports":[{"type":"stdio","command":"npx","args":["-y","@example/notes@1.2.3"]}],
		"install":{"method":"npx","package":"@example/notes","version":"1.2.3"}}`, version)
}

func TestTheCatalogFromPublishToDownload(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t)
	checkRecipes(t, first.namespace)
	first.await("the catalog", func() bool { return first.ask("GET", "/recipes", "", "", "").status == http.StatusOK })
	second.await("the catalog", func() bool { return second.ask("GET", "/recipes", "", "", "").status == http.StatusOK })
	key, keyID := first.newPublisher("acme")

	first.expect("try", first.ask("POST", "/recipes?dryRun=All", key, "", notesRecipe("1.0.0")), http.StatusOK)
	first.expect("what was only tried", first.ask("GET", "/recipes/notes", "", "", ""), http.StatusNotFound)
	created := first.expect("create", first.ask("POST", "/recipes", key, "", notesRecipe("1.0.0")), http.StatusCreated)
	if !strings.Contains(created.body, `"state":"served"`) {
		t.Errorf("it is not served: %s", created.body)
	}
	// Its writer reads it at once, and gets the revision that it was told.
	if read := first.expect("read", first.ask("GET", "/recipes/notes", "", "", ""), http.StatusOK); read.etag != created.etag {
		t.Errorf("the revision is %s, and the writer was told %s", read.etag, created.etag)
	}
	updated := first.expect("update", first.ask("PUT", "/recipes/notes", key, created.etag, notesRecipe("1.1.0")), http.StatusOK)
	first.expect("update of an old revision", first.ask("PUT", "/recipes/notes", key, created.etag, notesRecipe("1.2.0")), http.StatusPreconditionFailed)
	overlaid := first.expect("overlay", first.ask("PUT", "/admin/recipes/notes/quality", testAdminKey, updated.etag, `{"verified":true,"score":90}`), http.StatusCreated)
	first.expect("overlay again", first.ask("PUT", "/admin/recipes/notes/quality", testAdminKey, overlaid.etag, `{"verified":true,"score":95}`), http.StatusOK)
	first.expect("deprecate", first.ask("PUT", "/recipes/notes/deprecation", key, "", `{"reason":"Old."}`), http.StatusOK)
	second.await("the other replica", func() bool {
		body := second.ask("GET", "/recipes/notes", "", "", "").body
		return strings.Contains(body, `"version":"1.1.0"`) && strings.Contains(body, `"score":95`) && strings.Contains(body, `"reason":"Old."`)
	})

	// The bridge on a person's own machine installs from here.
	catalog := must.Value(laptop.OpenCatalog("http://" + second.public))(t)
	if doc, err := catalog.Download(t.Context(), "notes"); err != nil || doc.Recipe.RecipeVersion != "1.1.0" {
		t.Errorf("download: %v", err)
	}
	for _, path := range []string{"/search?q=notes&sort=quality", "/api/recipes?limit=5&sort=popular", "/v0.1/servers/dev.hostedbridge.catalog%2Fnotes/versions/latest", "/openapi.json"} {
		first.expect(path, first.ask("GET", path, "", "", ""), http.StatusOK)
	}
	first.expectDescribed()
	first.expectRefusals(key)
	first.expectTransfer()
	first.expectRevoked(second, key, keyID)
	first.expectCatalogActs()
}

// expectDescribed asks for each route of administrators and users that is described,
// without a key: one that is none of the ingress's would be a 404 or a 405.
func (i *installation) expectDescribed() {
	i.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	const withLogin = `"tags":["login"]` // There is no authorization server here.
	must.Succeed(i.t, json.Unmarshal([]byte(i.ask("GET", "/openapi.json", "", "", "").body), &doc))
	example := strings.NewReplacer("{userId}", "alice", "{keyId}", "AbCdEfGhIjKl", "{id}", "acme", "{name}", "notes", "{server}", "search", "{program}", "notes-1-2-3")
	asked := 0
	for path, item := range doc.Paths {
		for method, operation := range item {
			ours := strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, "/u/") || path == "/mcp"
			if !ours || method == "parameters" || bytes.Contains(operation, []byte(withLogin)) {
				continue
			}
			asked++
			i.expect(method+" "+path, i.ask(strings.ToUpper(method), example.Replace(path), "", "", ""), http.StatusUnauthorized)
		}
	}
	if asked < 25 {
		i.t.Errorf("%d routes of administrators are described", asked)
	}
}

// expectRefusals has the ingress, the API server and the catalog refuse what they
// should.
func (i *installation) expectRefusals(key string) {
	i.t.Helper()
	for what, test := range map[string]struct {
		method, path, key, ifMatch, body string
		status                           int
	}{
		"no key":            {"POST", "/recipes", "", "", notesRecipe("1.0.0"), 401},
		"the admin's key":   {"POST", "/recipes", testAdminKey, "", notesRecipe("1.0.0"), 401},
		"a taken name":      {"POST", "/recipes", key, "", notesRecipe("2.0.0"), 409},
		"too large":         {"POST", "/recipes", key, "", `{"description":"` + strings.Repeat("a", 257<<10) + `"}`, 413},
		"invalid":           {"POST", "/recipes", key, "", `{}`, 422},
		"no If-Match":       {"PUT", "/recipes/notes", key, "", notesRecipe("2.0.0"), 428},
		"another method":    {"PATCH", "/recipes/notes", key, "", "", 405},
		"a publisher's key": {"GET", "/admin/publishers", key, "", "", 401},
		"an unknown query":  {"GET", "/recipes?x=1", "", "", "", 400},
		"a query of none":   {"GET", "/recipes/notes?x=1", "", "", "", 400},
		"no source":         {"POST", "/admin/seed", testAdminKey, "", "", 503},
		"another path":      {"GET", "/recipes/%6eotes", "", "", "", 404},
	} {
		if got := i.ask(test.method, test.path, test.key, test.ifMatch, test.body); got.status != test.status {
			i.t.Errorf("%s: %d %s, want %d", what, got.status, got.body, test.status)
		}
	}
}

// expectTransfer gives the recipe to another publisher, who replaces and deletes
// it.
func (i *installation) expectTransfer() {
	i.t.Helper()
	other, _ := i.newPublisher("other")
	i.expect("another's recipe", i.ask("PUT", "/recipes/notes", other, "*", notesRecipe("2.0.0")), http.StatusForbidden)
	given := i.expect("transfer", i.ask("PUT", "/admin/recipes/notes/owner", testAdminKey, "", `{"owner":"other"}`), http.StatusOK)
	i.expect("update by the new owner", i.ask("PUT", "/recipes/notes", other, given.etag, notesRecipe("2.0.0")), http.StatusOK)
	i.expect("delete by the new owner", i.ask("DELETE", "/recipes/notes", other, "*", ""), http.StatusNoContent)
	i.expect("what was deleted", i.ask("GET", "/recipes/notes", "", "", ""), http.StatusNotFound)
}

// expectRevoked revokes a key, which works nowhere a second later (10 on a busy machine).
func (i *installation) expectRevoked(other *installation, key, keyID string) {
	i.t.Helper()
	i.expect("revoke", i.ask("DELETE", "/admin/publishers/acme/keys/"+keyID, testAdminKey, "", ""), http.StatusNoContent)
	revoked := time.Now()
	for _, replica := range []*installation{i, other} {
		replica.await("the revoked key", func() bool {
			return replica.ask("POST", "/recipes?dryRun=All", key, "", notesRecipe("1.0.0")).status == http.StatusUnauthorized
		})
	}
	if took := time.Since(revoked); took > 10*time.Second {
		i.t.Errorf("a revoked key works for %v", took)
	}
	if strings.Contains(i.log.String()+other.log.String(), key) {
		i.t.Error("the log has a publisher's key")
	}
}

// expectCatalogActs waits until the audit index has what was done.
func (i *installation) expectCatalogActs() {
	i.t.Helper()
	want := []string{
		"admin/publishers.create acme", "publish/recipes.create notes", "publish/recipes.update notes", "admin/recipes.quality notes", "admin/recipes.quality notes",
		"publish/recipes.deprecate notes", "admin/publishers.create other", "admin/recipes.owner notes", "publish/recipes.update notes", "publish/recipes.delete notes",
	}
	i.await("the acts in the audit index", func() bool {
		var page struct {
			Entries []struct{ Method, Action string }
		}
		i.admin("GET", "audit?limit=1000", "", &page)
		var acts []string
		for _, e := range page.Entries {
			if strings.HasPrefix(e.Method, "publish/") || strings.HasPrefix(e.Method, "admin/recipes") || e.Method == "admin/publishers.create" {
				acts = append(acts, e.Method+" "+e.Action)
			}
		}
		slices.Reverse(acts)
		return slices.Equal(acts, want)
	})
}
