// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

// TestAnETagOutlastsTheVerdict has the operator look at a recipe after its writer
// was told the ETag.
func TestAnETagOutlastsTheVerdict(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settle = 20 * time.Millisecond })
	key := w.publisher("acme")
	w.store.away = true
	waiting := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...).header.Get("ETag")
	w.store.mu.Lock()
	w.store.away = false
	w.store.refresh()
	w.store.mu.Unlock()
	served := w.get("/recipes/notes").header.Get("ETag")
	if served == waiting {
		t.Error("readers of what was not served are told that nothing changed")
	}
	for _, tag := range []string{waiting, served} {
		if got := w.do(http.MethodPut, "/recipes/notes?dryRun=All", recipeOf("notes", "1.1.0"), header(key, match(tag))...); got.status != http.StatusOK {
			t.Errorf("with %s: %d %s", tag, got.status, got.body)
		}
	}
	// Whoever says something of a recipe has seen what is served.
	if got := w.admin(http.MethodPut, "/admin/recipes/notes/quality", `{"verified":true}`, "If-Match", waiting); got.status != http.StatusPreconditionFailed {
		t.Errorf("an overlay of what was not seen: %d %s", got.status, got.body)
	}
	for _, want := range []int{http.StatusOK, http.StatusPreconditionFailed} {
		if got := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.1.0"), header(key, match(waiting))...); got.status != want {
			t.Errorf("%d, want %d: %s", got.status, want, got.body)
		}
	}
}

func TestAnETagIsOfAllThatIsServed(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	tags := map[string]string{}
	note := func(when string) {
		t.Helper()
		read := w.get("/recipes/notes")
		tag := read.header.Get("ETag")
		if body, known := tags[tag]; known && body != read.body {
			t.Errorf("%s there is another body of the same ETag", when)
		}
		tags[tag] = read.body
		if got := w.get("/recipes/notes", "If-None-Match", tag); got.status != http.StatusNotModified {
			t.Errorf("%s: %d", when, got.status)
		}
	}
	w.do(http.MethodPost, "/recipes", recipeOf("notes", ""), key...)
	note("at first")
	for i, more := range []string{`"multiInstance":true`, `"multiInstance":false`} {
		w.store.mu.Lock()
		w.store.later = time.Duration(i+1) * time.Hour
		w.store.mu.Unlock()
		w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "", more), header(key, match("*"))...)
		note("after " + more)
	}
	w.admin(http.MethodDelete, "/admin/recipes/notes", "")
	w.do(http.MethodPost, "/recipes", recipeOf("notes", ""), key...)
	note("made anew")
	if len(tags) != 4 {
		t.Errorf("%d ETags of four states", len(tags))
	}
}

// behind shows the catalog as it was.
type behind struct {
	Store

	old *search.Snapshot
}

func (b *behind) Current() *search.Snapshot {
	if b.old != nil {
		return b.old
	}
	return b.Store.Current()
}

// TestAReplicaThatIsBehindUndoesNothing writes through a replica that has not
// seen what was written through another one.
func TestAReplicaThatIsBehindUndoesNothing(t *testing.T) {
	var store *behind
	w := newWorld(t, func(o *Options) {
		store = &behind{Store: o.Store}
		o.Store, o.Settle = store, 20*time.Millisecond
	})
	key := w.publisher("acme")
	first := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...).header.Get("ETag")
	old := w.store.Current()
	second := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.1.0"), header(key, match(first))...).header.Get("ETag")

	store.old = old
	if got := w.do(http.MethodPut, "/recipes/notes/deprecation", `{"reason":"Old."}`, header(key, match(second))...); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	store.old = nil
	if read := w.get("/recipes/notes").body; !strings.Contains(read, `"version":"1.1.0"`) || !strings.Contains(read, `"reason":"Old."`) {
		t.Errorf("after a deprecation: %s", read)
	}
	store.old = old
	if got := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.0.5"), header(key, match("*"))...); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a version below the one that is there: %d %s", got.status, got.body)
	}
	if got := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.2.0"), header(key, match("*"))...); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	store.old = nil
	if read := w.get("/recipes/notes").body; !strings.Contains(read, `"version":"1.2.0"`) || !strings.Contains(read, `"reason":"Old."`) {
		t.Errorf("after a new version: %s", read)
	}
}

// TestAVerificationIsOfOneVersion replaces the program and leaves the version of
// its package.
func TestAVerificationIsOfOneVersion(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	if got := w.admin(http.MethodPut, "/admin/recipes/notes/quality", `{"verified":true,"auditedVersion":"1.2.3"}`); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.get("/recipes?verified=true"); !strings.Contains(got.body, `"total":1`) {
		t.Errorf("what was verified: %s", got.body)
	}
	other := strings.ReplaceAll(recipeOf("notes", "1.1.0"), "@example/notes", "@evil/notes")
	if got := w.do(http.MethodPut, "/recipes/notes", other, header(key, match("*"))...); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.get("/recipes?verified=true"); !strings.Contains(got.body, `"total":0`) {
		t.Errorf("another program: %s", got.body)
	}
	if got := w.get("/recipes/notes"); !strings.Contains(got.body, `"auditOutdated":true`) {
		t.Errorf("another program: %s", got.body)
	}
	e, _ := w.store.Current().Entry("notes")
	for digest, want := range map[string]string{e.Versions[1].Digest: `"total":0`, e.Versions[0].Digest: `"total":1`} {
		if got := w.admin(http.MethodPut, "/admin/recipes/notes/quality", `{"verified":true,"recipeDigest":"`+digest+`"}`); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if got := w.get("/recipes?verified=true"); !strings.Contains(got.body, want) {
			t.Errorf("of %s: %s", digest, got.body)
		}
	}
	if got := w.admin(http.MethodPut, "/admin/recipes/notes/quality", `{"recipeDigest":"sha256:1"}`); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a digest that is none: %d %s", got.status, got.body)
	}
}

func TestAVersionWithAPlusSignIsFound(t *testing.T) {
	w := newWorld(t)
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0+build.1"), w.publisher("acme")...)
	for _, version := range []string{"1.0.0+build.1", "1.0.0%2Bbuild.1", "1.0.0%2bbuild.1"} {
		if got := w.get("/recipes/notes/versions/" + version); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", version, got.status, got.body)
		}
	}
}

// TestClientsOfTheRegistryHearOfADeprecation asks for what changed since they
// asked last.
func TestClientsOfTheRegistryHearOfADeprecation(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	since := func(hours int) string {
		return w.get(serversPath + "?updated_since=" + today.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339)).body
	}
	after := func(hours int, method string) {
		t.Helper()
		w.store.mu.Lock()
		w.store.later = time.Duration(hours) * time.Hour
		w.store.mu.Unlock()
		if got := w.do(method, "/recipes/notes/deprecation", "{}", key...); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if got := since(1); !strings.Contains(got, `"count":0`) {
		t.Errorf("before: %s", got)
	}
	after(2, http.MethodPut)
	if got := since(2); !strings.Contains(got, `"count":1`) || !strings.Contains(got, `"status":"deprecated"`) || !strings.Contains(got, `"updatedAt":"2026-03-01T14:00:00Z"`) {
		t.Errorf("deprecated: %s", got)
	}
	after(4, http.MethodDelete)
	if got := since(4); !strings.Contains(got, `"count":1`) || !strings.Contains(got, `"status":"active","statusChangedAt":"2026-03-01T16:00:00Z"`) {
		t.Errorf("not anymore: %s", got)
	}
	if got := since(5); !strings.Contains(got, `"count":0`) {
		t.Errorf("since then: %s", got)
	}
}
