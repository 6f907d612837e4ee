// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const notesRecipe = `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes","repository":"https://example.com",
	"transports":[{"type":"streamable-http","url":"https://notes.example.com/mcp"}]}`

func keyOf(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), n))
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// signedAt returns the recipe with this description, signed at a day of 2026.
func signedAt(t *testing.T, key ed25519.PrivateKey, description string, day int) recipe.Document {
	t.Helper()
	return signedBy(t, key, "example", description, time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC))
}

func signedBy(t *testing.T, key ed25519.PrivateKey, publisher, description string, at time.Time) recipe.Document {
	t.Helper()
	doc, err := jsondoc.Parse([]byte(strings.Replace(notesRecipe, "Keeps notes", description, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, key, publisher, at); err != nil {
		t.Fatal(err)
	}
	return parsed(t, doc.Indented())
}

func parsed(t *testing.T, b []byte) recipe.Document {
	t.Helper()
	return must.Value(recipe.Parse(b))(t)
}

func TestACatalogIsReachedSafely(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		good bool
	}{
		"TLS":                      {"https://catalog.example.com/", true},
		"this machine":             {"http://127.0.0.1:8080", true},
		"this machine by its name": {"http://localhost:8080", true},
		"elsewhere without TLS":    {"http://catalog.example.com", false},
		"with credentials":         {"https://a:b@catalog.example.com", false},
		"with a query":             {"https://catalog.example.com/?x=1", false},
		"another scheme":           {"file:///etc", false},
		"nothing":                  {"", false},
	} {
		if _, err := OpenCatalog(tt.url); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDownload(t *testing.T) {
	var answer http.HandlerFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	c := must.Value(OpenCatalog(server.URL + "/"))(t)
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/recipes/notes/download" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			_, _ = fmt.Fprint(w, text)
		}
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"the recipe":        {body(notesRecipe), ""},
		"another recipe":    {body(strings.Replace(notesRecipe, `"notes"`, `"bank"`, 1)), `has sent the recipe "bank" for "notes"`},
		"no recipe":         {http.NotFound, `no recipe "notes"`},
		"an error":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "418"},
		"what is too long":  {body(strings.Repeat(" ", recipe.MaxBytes+2)), "longer than"},
		"what is no recipe": {body("{}"), "not valid"},
		"a way elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}, "without TLS"},
		"a way that does not end":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "leads elsewhere"},
		"a recipe in small pieces": {func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); body(notesRecipe)(w, r) }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			answer = tt.answer
			d, err := c.Download(t.Context(), "notes")
			if tt.want == "" && (err != nil || d.Recipe.ID != "notes") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%q, %v", d.Recipe.ID, err)
			}
		})
	}
}

// TestTrust plays what happens to one machine, in order.
func TestTrust(t *testing.T) {
	trust := OpenTrust(t.TempDir())
	here, elsewhere := Catalog{base: "https://a"}, Catalog{base: "https://b"}
	ours, theirs := keyOf(1), keyOf(2)
	unsigned := parsed(t, []byte(notesRecipe))
	first, second, third := signedAt(t, ours, "first", 1), signedAt(t, ours, "second", 2), signedAt(t, ours, "third", 3)
	// A replay whose time was made newer, which no signature covers.
	disguised := parsed(t, []byte(strings.Replace(string(first.Source.Indented()), "2026-01-01", "2026-01-09", 1)))
	usurped := signedBy(t, theirs, "usurper", "x", time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC))
	steps := []struct {
		name    string
		claim   Claim
		want    string // part of the error; empty for success, which is remembered
		forget  bool
		dropped bool // not installed in the end
	}{
		{name: "without a signature", claim: Claim{Catalog: here, Document: unsigned}, want: "--allow-unsigned"},
		{name: "without a signature, allowed", claim: Claim{Catalog: here, Document: unsigned, AllowUnsigned: true}},
		{name: "an unknown publisher", claim: Claim{Catalog: here, Document: second}, want: "--key"},
		{name: "an unknown publisher, whatever is allowed", claim: Claim{Catalog: here, Document: second, AllowUnsigned: true}, want: "--key"},
		{name: "with the wrong key", claim: Claim{Catalog: here, Document: second, Key: public(theirs)}, want: "does not match"},
		{name: "with the key, and not installed", claim: Claim{Catalog: here, Document: second, Key: public(ours)}, dropped: true},
		{name: "the key was not remembered", claim: Claim{Catalog: here, Document: second}, want: "--key"},
		{name: "with the key", claim: Claim{Catalog: here, Document: first, Key: public(ours)}},
		{name: "the key is known", claim: Claim{Catalog: here, Document: second}},
		{name: "the same once more", claim: Claim{Catalog: here, Document: second}},
		{name: "another key than the known one", claim: Claim{Catalog: here, Document: second, Key: public(theirs)}, want: "forget-publisher"},
		{name: "a signature of another key", claim: Claim{Catalog: here, Document: signedAt(t, theirs, "x", 4)}, want: "does not match"},
		{name: "an older one", claim: Claim{Catalog: here, Document: first}, want: "before the present one"},
		{name: "an older one with a new time", claim: Claim{Catalog: here, Document: disguised}, want: "before the present one"},
		{name: "an older one that was not seen", claim: Claim{Catalog: here, Document: signedAt(t, ours, "x", 1)}, want: "before the one that is installed"},
		{name: "one without a signature after signed ones", claim: Claim{Catalog: here, Document: unsigned, AllowUnsigned: true}, want: "is not signed, and the one"},
		{name: "the same publisher at another catalog", claim: Claim{Catalog: elsewhere, Document: third}, want: "--key"},
		{name: "a newer one", claim: Claim{Catalog: here, Document: third}},
		{name: "one that is signed the day after tomorrow", claim: Claim{Catalog: here, Document: signedBy(t, ours, "example", "x", time.Now().Add(48*time.Hour))}, want: "yet to come"},
		{name: "another publisher's of the same id", claim: Claim{Catalog: here, Document: usurped, Key: public(theirs)}, want: "--new-publisher"},
		{name: "another publisher's that is wanted", claim: Claim{Catalog: here, Document: usurped, Key: public(theirs), NewPublisher: true}, dropped: true},
		{name: "after the key was forgotten", claim: Claim{Catalog: here, Document: third}, forget: true, want: "--key"},
	}
	for _, step := range steps {
		if step.forget {
			if found, err := trust.Forget("example"); !found || err != nil {
				t.Errorf("forgotten %v, %v", found, err)
			}
		}
		err := trust.Check(step.claim)
		if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("%s: %v", step.name, err)
		}
		if err == nil && !step.dropped {
			must.Succeed(t, trust.Remember(step.claim, "notes"))
		}
	}
	if found, err := trust.Forget("nobody"); found || err != nil {
		t.Errorf("forgotten %v, %v", found, err)
	}
}

func TestWhatWasAuditedIsRemembered(t *testing.T) {
	trust := OpenTrust(t.TempDir())
	hash := "sha256-" + strings.Repeat("a", 64)
	with := parsed(t, []byte(strings.Replace(notesRecipe, `"name"`, `"install":{"method":"binary","toolsHash":"`+hash+`"},"name"`, 1)))
	without := parsed(t, []byte(notesRecipe))
	expect := func(want string) {
		t.Helper()
		if got, err := trust.ToolsHash("s"); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, d := range []recipe.Document{with, without, with} {
		must.Succeed(t, trust.Remember(Claim{Document: d}, "s"))
		if d.Recipe.Install == nil {
			expect("")
		} else {
			expect(hash)
		}
	}
	must.Succeed(t, trust.ForgetServer("s"))
	expect("")
	must.Succeed(t, trust.ForgetServer("s"))
}

// TestChangesOfTheNotesAtTheSameTimeAreAllKept holds the names of secrets with
// it, which the environment does not have for a recipe's server.
func TestChangesOfTheNotesAtTheSameTimeAreAllKept(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		all.Go(func() {
			if err := OpenTrust(folder).Remember(Claim{Document: parsed(t, []byte(notesRecipe)), Secrets: []string{name}}, name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	brought, err := OpenTrust(folder).Brought()
	if len(brought) != 8 || err != nil {
		t.Errorf("%q, %v", brought, err)
	}
	r := Resolver{Store: OpenSecrets(folder, nil), Getenv: func(string) string { return "env" }, Brought: brought}
	values, _, err := r.Resolve(t.Context(), []string{"A", "X"})
	if diff := cmp.Diff(map[string][]byte{"X": []byte("env")}, values); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
