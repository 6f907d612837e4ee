// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// signedRecipe returns a recipe that acme signed, as it is sent.
func signedRecipe(t *testing.T, version string, private ed25519.PrivateKey, at time.Time) string {
	t.Helper()
	doc, err := jsondoc.Parse([]byte(recipeOf("notes", version)))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, private, "acme", at); err != nil {
		t.Fatal(err)
	}
	return string(must.Value(doc.MarshalJSON())(t))
}

// TestAPublisherSignsByAKeyOfTheProgram publishes what bridge keys and bridge sign make.
func TestAPublisherSignsByAKeyOfTheProgram(t *testing.T) {
	w := newWorld(t)
	signer := must.Value(recipe.ReadPrivateKey(must.Value(recipe.MakeKey(rand.Reader))(t)))(t)
	other := must.Value(recipe.ReadPrivateKey(must.Value(recipe.MakeKey(rand.Reader))(t)))(t)
	key := w.publisher("acme", signer.PublicKey())
	sign := func(s *recipe.Signer, publisher string) string {
		file, _, err := s.SignAs(publisher, []byte(recipeOf("notes", "1.0.0")), today)
		if err != nil {
			t.Fatal(err)
		}
		return string(file)
	}
	good := sign(signer, "acme")
	for name, test := range map[string]struct{ body, code string }{
		"by another key":            {sign(other, "acme"), "signature_invalid"},
		"for another publisher":     {sign(signer, "else"), "signature_invalid"},
		"changed after it was made": {strings.Replace(good, "Does something", "Does anything", 1), "signature_invalid"},
	} {
		if got := w.do(http.MethodPost, "/recipes", test.body, key...); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, test.code) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := w.do(http.MethodPost, "/recipes", good, key...); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.get("/recipes/notes/versions"); !strings.Contains(got.body, `"signed":true`) {
		t.Errorf("the version is not shown as signed: %s", got.body)
	}
	downloaded := must.Value(jsondoc.Parse([]byte(w.get("/api/recipes/notes/download").body)))(t)
	if err := recipe.Verify(downloaded, must.Value(recipe.ParseKey(signer.PublicKey()))(t)); err != nil {
		t.Errorf("what users download: %v", err)
	}
}

func TestAWithdrawnVersionIsShownAndNotServed(t *testing.T) {
	w := newWorld(t)
	old, oldPrivate := must.Values(ed25519.GenerateKey(nil))(t)
	current, currentPrivate := must.Values(ed25519.GenerateKey(nil))(t)
	key := w.publisher("acme", recipe.FormatKey(old), recipe.FormatKey(current))
	if got := w.do(http.MethodPost, "/recipes", signedRecipe(t, "1.0.0", oldPrivate, today.Add(-2*time.Hour)), key...); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	header := append([]string{"If-Match", "*"}, key...)
	if got := w.do(http.MethodPut, "/recipes/notes", signedRecipe(t, "1.1.0", currentPrivate, today.Add(-time.Hour)), header...); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	server := "/v0.1/servers/" + DefaultNamespace + "%2Fnotes/versions"
	statuses := func(keys string, oldVersion, newVersion int, listed int) {
		t.Helper()
		for target, status := range map[string]int{
			"/recipes/notes/versions/1.0.0": oldVersion, "/recipes/notes/versions/1.1.0": newVersion,
			server + "/1.1.0": newVersion,
		} {
			if got := w.get(target); got.status != status {
				t.Errorf("%s: %s: %d %s", keys, target, got.status, got.body)
			}
		}
		var list struct{ Servers []any }
		if w.get(server).into(t, &list); len(list.Servers) != listed {
			t.Errorf("%s: %d servers", keys, len(list.Servers))
		}
	}
	statuses("both keys", http.StatusOK, http.StatusOK, 2)
	before := w.get("/recipes/notes/versions").header.Get("ETag")

	w.store.mu.Lock()
	p := w.store.publishers["acme"]
	p.PublicKeys = p.PublicKeys[1:]
	w.store.publishers["acme"] = p
	w.store.refresh()
	w.store.mu.Unlock()
	statuses("without the old one", http.StatusGone, http.StatusOK, 1)
	if got := w.get("/recipes/notes/versions/1.0.0"); got.code() != "version_withdrawn" {
		t.Error(got.body)
	}
	if got := w.get(server + "/1.0.0"); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
	var kept struct{ Versions []listedVersion }
	got := w.get("/recipes/notes/versions")
	got.into(t, &kept)
	if len(kept.Versions) != 2 || kept.Versions[0].Withdrawn || !kept.Versions[1].Withdrawn || got.header.Get("ETag") == before {
		t.Errorf("%s", got.body)
	}
}
