// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// header returns headers in one list.
func header(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

func match(tag string) []string { return []string{"If-Match", tag} }

func TestAPublisherWritesRecipesAndReadsThem(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	created := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	if created.status != http.StatusCreated || created.header.Get("Location") != "/recipes/notes" {
		t.Fatalf("create: %d %v %s", created.status, created.header, created.body)
	}
	read := w.get("/recipes/notes")
	if read.status != http.StatusOK || read.header.Get("ETag") != created.header.Get("ETag") {
		t.Errorf("what was created is not what is read: %d %s and %s", read.status, read.header.Get("ETag"), created.header.Get("ETag"))
	}
	var got written
	created.into(t, &got)
	want := written{Name: "notes", Version: "1.0.0", Revision: strings.Trim(read.header.Get("ETag"), `"`), State: "served"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	updated := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.1.0"), header(key, match(created.header.Get("ETag")))...)
	if updated.status != http.StatusOK || !strings.Contains(w.get("/recipes/notes").body, `"version":"1.1.0"`) {
		t.Errorf("update: %d %s", updated.status, updated.body)
	}
	deprecated := w.do(http.MethodPut, "/recipes/notes/deprecation", `{"reason":"Old.","replacedBy":"memo"}`, key...)
	if deprecated.status != http.StatusOK || !strings.Contains(w.get("/recipes/notes").body, `"deprecated":{"since":"2026-03-01T12:00:00Z","reason":"Old.","replacedBy":"memo"}`) {
		t.Errorf("deprecate: %d %s", deprecated.status, deprecated.body)
	}
	again := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.2.0"), header(key, match("*"))...)
	if again.status != http.StatusOK || !strings.Contains(w.get("/recipes/notes").body, `"reason":"Old."`) {
		t.Errorf("an update takes the deprecation back: %d %s", again.status, again.body)
	}
	if got := w.do(http.MethodDelete, "/recipes/notes/deprecation", "", key...); got.status != http.StatusOK || strings.Contains(w.get("/recipes/notes").body, "deprecated") {
		t.Errorf("take the deprecation back: %d %s", got.status, got.body)
	}
	if got := w.do(http.MethodDelete, "/recipes/notes", "", key...); got.status != http.StatusNoContent || w.get("/recipes/notes").status != http.StatusNotFound {
		t.Errorf("delete: %d %s", got.status, got.body)
	}
	var names []string
	for _, a := range w.told() {
		if a.Target != "notes" || a.Publisher != "acme" || a.KeyID == "" || a.Unsure {
			t.Errorf("audited as %+v", a)
		}
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"recipes.create", "recipes.update", "recipes.deprecate", "recipes.update", "recipes.undeprecate", "recipes.delete"}, names); diff != "" {
		t.Error(diff)
	}
	if len(w.store.used) != 6 {
		t.Errorf("the key's use is noted %d times", len(w.store.used))
	}
}

func TestWritesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	acme, other := w.publisher("acme"), w.publisher("other")
	w.seeded("seeded")
	tag := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), acme...).header.Get("ETag")
	w.told()
	before := w.store.writes
	const many = `{"schemaVersion":2,"id":"x y","name":"","bogus":1,"transports":[{"type":"stdio","command":"sh","args":["-c","true"]}]}`
	for name, test := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code               string
	}{
		"without a key":           {"POST", "/recipes", recipeOf("memo", "1.0.0"), nil, 401, "unauthorized"},
		"with another key":        {"POST", "/recipes", recipeOf("memo", "1.0.0"), []string{"Authorization", "Bearer pub_x"}, 401, "unauthorized"},
		"with the admin key":      {"POST", "/recipes", recipeOf("memo", "1.0.0"), []string{"Authorization", "Bearer admin"}, 401, "unauthorized"},
		"no JSON":                 {"POST", "/recipes", `{`, acme, 422, "recipe_invalid"},
		"nothing":                 {"POST", "/recipes", ``, acme, 422, "recipe_invalid"},
		"many faults":             {"POST", "/recipes", many, acme, 422, "recipe_invalid"},
		"a name that is taken":    {"POST", "/recipes", recipeOf("notes", "1.0.0"), acme, 409, "name_taken"},
		"another's name":          {"POST", "/recipes", recipeOf("notes", "2.0.0"), other, 409, "name_taken"},
		"a seeded name":           {"POST", "/recipes", recipeOf("seeded", "2.0.0"), acme, 409, "name_taken"},
		"another's recipe":        {"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), header(other, match(tag)), 403, "not_owner"},
		"a seeded recipe":         {"PUT", "/recipes/seeded", recipeOf("seeded", "2.0.0"), header(acme, match("*")), 403, "not_owner"},
		"no such recipe":          {"PUT", "/recipes/memo", recipeOf("memo", "1.0.0"), header(acme, match("*")), 404, "recipe_not_found"},
		"without If-Match":        {"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), acme, 428, "if_match_required"},
		"an old revision":         {"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), header(acme, match(`"old"`)), 412, "revision_changed"},
		"a weak revision":         {"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), header(acme, match("W/"+tag)), 400, "if_match_invalid"},
		"two revisions":           {"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), header(acme, match(tag+`, "x"`)), 400, "if_match_invalid"},
		"under another name":      {"PUT", "/recipes/notes", recipeOf("memo", "2.0.0"), header(acme, match(tag)), 422, "recipe_invalid"},
		"another of one version":  {"PUT", "/recipes/notes", recipeOf("notes", "1.0.0", `"multiInstance":true`), header(acme, match(tag)), 422, "recipe_invalid"},
		"a lower version":         {"PUT", "/recipes/notes", recipeOf("notes", "0.9.0"), header(acme, match(tag)), 422, "recipe_invalid"},
		"delete another's":        {"DELETE", "/recipes/notes", "", other, 403, "not_owner"},
		"delete an old revision":  {"DELETE", "/recipes/notes", "", header(acme, match(`"old"`)), 412, "revision_changed"},
		"delete none":             {"DELETE", "/recipes/memo", "", acme, 404, "recipe_not_found"},
		"deprecate another's":     {"PUT", "/recipes/notes/deprecation", `{}`, other, 403, "not_owner"},
		"deprecate by itself":     {"PUT", "/recipes/notes/deprecation", `{"replacedBy":"notes"}`, acme, 422, "request_invalid"},
		"deprecate with no field": {"PUT", "/recipes/notes/deprecation", `{"why":"x"}`, acme, 422, "request_invalid"},
		"deprecate at length":     {"PUT", "/recipes/notes/deprecation", `{"reason":"` + strings.Repeat("a", 1025) + `"}`, acme, 422, "request_invalid"},
		"an unknown dry run":      {"POST", "/recipes?dryRun=true", recipeOf("memo", "1.0.0"), acme, 400, "query_invalid"},
		"a revision that went":    {"PUT", "/recipes/notes/deprecation", `{}`, header(acme, match(`"old"`)), 412, "revision_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.do(test.method, test.path, test.body, test.header...)
			if got.status != test.status || got.code() != test.code {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	if w.store.writes != before || len(w.told()) != 0 {
		t.Error("something that was refused was written or audited")
	}
	var all struct{ Problems []catalog.Problem }
	w.do(http.MethodPost, "/recipes", many, acme...).into(t, &all)
	fields := map[string]bool{}
	for _, p := range all.Problems {
		fields[p.Field] = true
	}
	for _, field := range []string{"id", "name", "bogus", "transports[0].command"} {
		if !fields[field] {
			t.Errorf("nothing is said of %s: %v", field, all.Problems)
		}
	}
}

// TestOneAnswerNamesAllFaultsOfARecipe sends the same faults under each kind of name: an author
// who corrects what one answer names is not told of other faults by the next.
func TestOneAnswerNamesAllFaultsOfARecipe(t *testing.T) {
	w := newWorld(t)
	acme, other := w.publisher("acme"), w.publisher("other")
	w.do(http.MethodPost, "/recipes", recipeOf("mine", "1.0.0"), acme...)
	w.do(http.MethodPost, "/recipes", recipeOf("theirs", "1.0.0"), other...)
	faults := []string{
		" warning", "auth.credentialsUrl invalid", "bogus unknown_field", "description invalid", "install.version unpinned", "recipeVersion invalid",
	}
	const recipe = `{"schemaVersion":2,"id":"NAME","name":"N","repository":"https://a.example","recipeVersion":"one","bogus":1,
		"transports":[{"type":"stdio","command":"npx","args":["-y","@a/b"]}],"install":{"method":"npx","package":"@a/b","version":"latest"},
		"auth":{"required":true,"credentialsUrl":"nowhere"},"metadata":{"category":"nonsense"}}`
	for name, test := range map[string]struct {
		id, body string
		want     []string
	}{
		"under a free name":      {"free", recipe, faults},
		"under one's own name":   {"mine", recipe, append([]string{"id name_taken"}, faults...)},
		"under another's name":   {"theirs", recipe, append([]string{"id name_taken"}, faults...)},
		"an old version of mine": {"mine", recipeOf("mine", "0.9.0"), []string{"id name_taken", "recipeVersion version_not_newer"}},
	} {
		for _, query := range []string{"", "?dryRun=All"} {
			t.Run(name+query, func(t *testing.T) {
				got := w.do(http.MethodPost, "/recipes"+query, strings.ReplaceAll(test.body, "NAME", test.id), acme...)
				if got.status != http.StatusUnprocessableEntity || got.code() != "recipe_invalid" {
					t.Fatalf("%d %s", got.status, got.body)
				}
				var answer struct{ Problems []catalog.Problem }
				got.into(t, &answer)
				var named []string
				for _, p := range answer.Problems {
					named = append(named, p.Field+" "+string(p.Code))
				}
				slices.Sort(named)
				slices.Sort(test.want)
				if diff := cmp.Diff(test.want, named); diff != "" {
					t.Errorf("%s\n%s", diff, got.body)
				}
			})
		}
	}
}

func TestADryRunSaysAllAndWritesNothing(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	w.told()
	before := w.store.writes
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/recipes", recipeOf("memo", "1.0.0"), 200},
		{"POST", "/recipes", recipeOf("notes", "1.0.0"), 409},
		{"POST", "/recipes", `{}`, 422},
		{"PUT", "/recipes/notes", recipeOf("notes", "2.0.0"), 200},
		{"PUT", "/recipes/notes/deprecation", `{}`, 200},
		{"DELETE", "/recipes/notes/deprecation", ``, 200},
		{"DELETE", "/recipes/notes", ``, 204},
	} {
		got := w.do(test.method, test.path+"?dryRun=All", test.body, header(key, match("*"))...)
		if got.status != test.status || got.status == http.StatusOK && !strings.Contains(got.body, `"dryRun":true`) {
			t.Errorf("%s %s: %d %s", test.method, test.path, got.status, got.body)
		}
	}
	if w.store.writes != before || len(w.told()) != 0 {
		t.Error("a dry run wrote or was audited")
	}
}

func TestTheAnswerSaysWhatTheCheckHasNotTakenYet(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Settle = 20 * time.Millisecond })
	key := w.publisher("acme")
	w.store.away = true
	got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	if got.status != http.StatusCreated || !strings.Contains(got.body, `"state":"waiting"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if read := w.get("/recipes/notes"); read.status != http.StatusNotFound {
		t.Errorf("it is served: %d", read.status)
	}
	// Its writer can change it all the same.
	if got := w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.0.1"), header(key, match(got.header.Get("ETag")))...); got.status != http.StatusOK {
		t.Errorf("change what waits: %d %s", got.status, got.body)
	}
	if got := w.do(http.MethodPut, "/recipes/notes/deprecation", `{}`, key...); got.status != http.StatusOK {
		t.Errorf("deprecate what waits: %d %s", got.status, got.body)
	}
}

func TestAWriteOfWhichNobodyKnowsIsAudited(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.store.fails = errors.New("the connection broke")
	got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	if got.status != http.StatusServiceUnavailable || got.code() != "cluster_unavailable" || strings.Contains(got.body, "broke") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if acts := w.told(); len(acts) != 1 || !acts[0].Unsure || acts[0].Name != "recipes.create" {
		t.Errorf("audited as %+v", acts)
	}
	w.auditErr = httpapi.New(http.StatusServiceUnavailable, "audit_unavailable", "")
	if got := w.do(http.MethodPost, "/recipes", recipeOf("memo", "1.0.0"), key...); got.status == http.StatusCreated {
		t.Error("an act that is not audited is answered as done")
	}
}

func TestStoreErrorsBecomeAnswers(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	for name, test := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"held by others":     {&catalog.ManagedError{By: []string{"kubectl"}}, 409, "held by kubectl"},
		"refused by the API": {&catalog.InvalidError{Problems: []catalog.Problem{{Field: "id", Code: "invalid", Message: "no"}}}, 422, `"field":"id"`},
		"taken meanwhile":    {catalog.ErrExists, 409, "name_taken"},
	} {
		w.store.fails = test.err
		got := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
		if got.status != test.status || !strings.Contains(got.body, test.says) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestASignedRecipeKeepsTheBytesThatWereSigned(t *testing.T) {
	w := newWorld(t)
	public, private := must.Values(ed25519.GenerateKey(nil))(t)
	key := w.publisher("acme", recipe.FormatKey(public))
	// A member that is false is signed, and the object leaves it out.
	doc := must.Value(jsondoc.Parse([]byte(recipeOf("notes", "1.0.0", `"localOnly":false`))))(t)
	signed := must.Value(recipe.Sign(doc, private, "acme", today.Add(-time.Hour)))(t)
	body := must.Value(signed.MarshalJSON())(t)
	if got := w.do(http.MethodPost, "/recipes", string(body), key...); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	verify := func() {
		t.Helper()
		doc := must.Value(recipe.Parse([]byte(w.get("/api/recipes/notes/download").body)))(t)
		if err := recipe.Verify(doc.Source, public); err != nil {
			t.Error(err)
		}
	}
	verify()
	if got := w.do(http.MethodPut, "/recipes/notes/deprecation", `{"reason":"Old."}`, key...); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	verify()
	forged := strings.Replace(string(body), "Does something", "Does another thing", 1)
	forged = strings.ReplaceAll(forged, "notes", "memos")
	if got := w.do(http.MethodPost, "/recipes", forged, key...); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "signature_invalid") {
		t.Errorf("forged: %d %s", got.status, got.body)
	}
	if got := w.do(http.MethodPost, "/recipes", string(body), w.publisher("other")...); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "signature") {
		t.Errorf("signed by somebody else: %d %s", got.status, got.body)
	}
}

func TestARecipeOfAnyFormatIsTaken(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	for name, body := range map[string]string{
		"server.json": `{"name":"io.github.acme/weather","description":"Tells the weather.","version":"1.0.2","repository":{"url":"https://github.com/acme/weather","source":"github"},
			"packages":[{"registryType":"npm","identifier":"@acme/weather","version":"1.0.2","transport":{"type":"stdio"}}]}`,
		"version 1": `{"schemaVersion":1,"name":"older","description":"Does it the old way.","transport":"streamable-http","url":"https://old.example.com/mcp","homepage":"https://old.example.com"}`,
	} {
		if got := w.do(http.MethodPost, "/recipes", body, key...); got.status != http.StatusCreated {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

var _ httpapi.Call = (*call)(nil)
