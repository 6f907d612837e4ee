// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

func TestAnOverlayIsLaidOnARecipe(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	const path = "/admin/recipes/alpha/quality"
	created := w.admin("PUT", path, `{"verified":true,"verifiedBy":"Ada","score":90}`)
	var got overlaid
	created.into(t, &got)
	want := overlaid{Name: "alpha", Revision: strings.Trim(w.get("/recipes/alpha").header.Get("ETag"), `"`), Served: true,
		Quality: &catalog.Overlay{Verified: new(true), VerifiedAt: &today, VerifiedBy: "Ada", Score: new(90)}}
	if alpha, ok := w.store.Current().Entry("alpha"); ok {
		want.Quality.RecipeDigest = alpha.Versions[0].Digest
	}
	if diff := cmp.Diff(want, got); diff != "" || created.status != http.StatusCreated {
		t.Errorf("%d %s", created.status, diff)
	}
	if got := w.admin("PUT", path, `{"badge":"gold"}`, "If-Match", created.header.Get("ETag")); got.status != http.StatusOK {
		t.Errorf("replace: %d %s", got.status, got.body)
	}
	if read := w.get("/recipes/alpha").body; !strings.Contains(read, `"badge":"gold"`) || strings.Contains(read, "Ada") {
		t.Errorf("what was said before is still there: %s", read)
	}
	if got := w.admin("PUT", path, `{}`, "If-Match", created.header.Get("ETag")); got.status != http.StatusPreconditionFailed {
		t.Errorf("with an old revision: %d %s", got.status, got.body)
	}
	if got := w.admin("PUT", path+"?dryRun=All", `{"badge":"lead"}`); got.status != http.StatusOK || strings.Contains(w.get("/recipes/alpha").body, "lead") {
		t.Errorf("dry run: %d %s", got.status, got.body)
	}
	if got := w.admin("DELETE", path, ""); got.status != http.StatusNoContent || strings.Contains(w.get("/recipes/alpha").body, "gold") {
		t.Errorf("remove: %d %s", got.status, got.body)
	}
	acts := []httpapi.Act{{Name: "recipes.quality", Target: "alpha"}, {Name: "recipes.quality", Target: "alpha"}, {Name: "recipes.quality.clear", Target: "alpha"}}
	if diff := cmp.Diff(acts, w.told()); diff != "" {
		t.Error(diff)
	}
}

func TestAdminActsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	key := w.publisher("acme")
	long := strings.Repeat("a", 129)
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"overlay of nothing":       {"PUT", "/admin/recipes/none/quality", `{}`, 404, "recipe_not_found"},
		"overlay with all wrong":   {"PUT", "/admin/recipes/alpha/quality", `{"score":101,"verifiedBy":"` + long + `","stars":5}`, 422, `"field":"stars"`},
		"overlay of another kind":  {"PUT", "/admin/recipes/alpha/quality", `{"score":"x"}`, 422, `"field":"score"`},
		"overlay that is a list":   {"PUT", "/admin/recipes/alpha/quality", `[]`, 422, "JSON object"},
		"a member twice":           {"PUT", "/admin/recipes/alpha/quality", `{"score":1,"score":2}`, 422, "stands once"},
		"removal with a query":     {"DELETE", "/admin/recipes/alpha/quality?dryRun=All", ``, 400, "query_invalid"},
		"removal from nothing":     {"DELETE", "/admin/recipes/none/quality", ``, 404, "recipe_not_found"},
		"a publisher that is seed": {"POST", "/admin/publishers", `{"id":"seed"}`, 422, `"field":"id"`},
		"a publisher without id":   {"POST", "/admin/publishers", `{}`, 422, `"field":"id"`},
		"a publisher again":        {"POST", "/admin/publishers", `{"id":"acme"}`, 409, "a publisher of this id"},
		"a lifetime that is none":  {"POST", "/admin/publishers", `{"id":"ab","expires":"soon"}`, 422, `"field":"expires"`},
		"a key that is none":       {"POST", "/admin/publishers", `{"id":"ab","publicKeys":["x"]}`, 422, `publicKeys[0]`},
		"no such publisher":        {"GET", "/admin/publishers/none", ``, 404, "publisher_not_found"},
		"change no publisher":      {"PUT", "/admin/publishers/none", `{}`, 404, "publisher_not_found"},
		"another's id":             {"PUT", "/admin/publishers/acme", `{"id":"other"}`, 422, "must be acme"},
		"a key for nobody":         {"POST", "/admin/publishers/none/keys", ``, 404, "publisher_not_found"},
		"a key of nobody":          {"DELETE", "/admin/publishers/none/keys/key000001", ``, 404, "publisher_not_found"},
		"no such key":              {"DELETE", "/admin/publishers/acme/keys/key000009", ``, 404, "key_not_found"},
		"to nobody":                {"PUT", "/admin/recipes/alpha/owner", `{"owner":"none"}`, 422, "owner_unknown"},
		"to no name":               {"PUT", "/admin/recipes/alpha/owner", `{}`, 422, `"field":"owner"`},
		"a transfer of nothing":    {"PUT", "/admin/recipes/none/owner", `{"owner":"acme"}`, 404, "recipe_not_found"},
		"a seed without a source":  {"POST", "/admin/seed", ``, 503, "seed_disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.admin(test.method, test.path, test.body); got.status != test.status || !strings.Contains(got.body, test.says) {
				t.Errorf("%d %s", got.status, got.body)
			}
			if got := w.do(test.method, test.path, test.body, key...); got.status != http.StatusUnauthorized {
				t.Errorf("a publisher does it: %d", got.status)
			}
		})
	}
	if acts := w.told(); len(acts) != 0 {
		t.Errorf("what was refused is audited: %+v", acts)
	}
	var all struct{ Problems []catalog.Problem }
	w.admin("PUT", "/admin/recipes/alpha/quality", `{"score":101,"verifiedBy":"`+long+`","stars":5}`).into(t, &all)
	if len(all.Problems) != 3 {
		t.Errorf("not all is said: %v", all.Problems)
	}
}

func TestAPublisherAndItsKeysComeAndGo(t *testing.T) {
	w := newWorld(t)
	made := w.admin("POST", "/admin/publishers", `{"id":"acme","displayName":"Acme","contact":"mail@acme.example","verified":true,"expires":"90d"}`)
	var first, second createdKey
	made.into(t, &first)
	if made.status != http.StatusCreated || made.header.Get("Location") != "/admin/publishers/acme" || first.KeyID != first.Publisher.Keys[0].ID ||
		!first.Publisher.Keys[0].ExpiresAt.Equal(today.Add(90*24*time.Hour)) || made.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %+v", made.status, made.header, first)
	}
	w.admin("POST", "/admin/publishers/acme/keys", "").into(t, &second)
	if second.Key == first.Key || len(second.Publisher.Keys) != 2 || second.Publisher.Keys[1].ID != second.KeyID {
		t.Errorf("%+v", second)
	}
	for _, key := range []string{first.Key, second.Key} {
		if got := w.do("POST", "/recipes?dryRun=All", recipeOf("notes", "1.0.0"), "Authorization", "Bearer "+key); got.status != http.StatusOK {
			t.Errorf("a key does not work: %d", got.status)
		}
	}
	if got := w.admin("DELETE", "/admin/publishers/acme/keys/"+first.KeyID, ""); got.status != http.StatusNoContent {
		t.Errorf("revoke: %d %s", got.status, got.body)
	}
	if got := w.do("POST", "/recipes?dryRun=All", recipeOf("notes", "1.0.0"), "Authorization", "Bearer "+first.Key); got.status != http.StatusUnauthorized {
		t.Errorf("a key that was revoked works: %d", got.status)
	}
	read := w.admin("GET", "/admin/publishers/acme", "")
	tag := read.header.Get("ETag")
	if got := w.admin("PUT", "/admin/publishers/acme", `{"displayName":"Acme Inc."}`, "If-Match", tag); got.status != http.StatusOK || !strings.Contains(got.body, "Acme Inc.") {
		t.Errorf("change: %d %s", got.status, got.body)
	}
	if got := w.admin("PUT", "/admin/publishers/acme", `{}`, "If-Match", tag); got.status != http.StatusPreconditionFailed {
		t.Errorf("change of an old revision: %d", got.status)
	}
	list := w.admin("GET", "/admin/publishers", "")
	var all struct{ Publishers []catalog.Publisher }
	list.into(t, &all)
	if len(all.Publishers) != 1 || all.Publishers[0].DisplayName != "Acme Inc." || len(all.Publishers[0].Keys) != 2 || all.Publishers[0].Keys[0].RevokedAt == nil {
		t.Errorf("%s", list.body)
	}
	for _, r := range []reply{read, list} {
		if strings.Contains(r.body, first.Key) || strings.Contains(r.body, second.Key) {
			t.Error("a key is told again")
		}
	}
	var names []string
	for _, a := range w.told() {
		names = append(names, a.Name+" "+a.Target)
		if a.Publisher != "" || strings.Contains(a.Target, "pub_") {
			t.Errorf("audited as %+v", a)
		}
	}
	want := []string{"publishers.create acme", "publishers.keys.create acme/" + second.KeyID, "publishers.keys.revoke acme/" + first.KeyID,
		"publishers.get acme", "publishers.update acme", "publishers.list "}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestATransferGivesTheNameToAnother(t *testing.T) {
	w := newWorld(t)
	acme, other := w.publisher("acme"), w.publisher("other")
	w.do("POST", "/recipes", recipeOf("notes", "1.0.0"), acme...)
	got := w.admin("PUT", "/admin/recipes/notes/owner", `{"owner":"other"}`)
	if got.status != http.StatusOK || !strings.Contains(w.get("/recipes/notes").body, `"owner":"other"`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.do("DELETE", "/recipes/notes", "", acme...); got.status != http.StatusForbidden {
		t.Errorf("the former owner writes: %d", got.status)
	}
	if got := w.do("PUT", "/recipes/notes", recipeOf("notes", "1.1.0"), header(other, match(got.header.Get("ETag")))...); got.status != http.StatusOK {
		t.Errorf("the new owner does not: %d %s", got.status, got.body)
	}
}

// fakeSeeder answers with what it is told to.
type fakeSeeder struct {
	report catalog.SeedReport
	err    error
	dryRun []bool
}

func (s *fakeSeeder) Seed(_ context.Context, dryRun bool) (catalog.SeedReport, error) {
	s.dryRun = append(s.dryRun, dryRun)
	return s.report, s.err
}

func TestASeedAnswersWithWhatItDid(t *testing.T) {
	seeder := &fakeSeeder{report: catalog.SeedReport{
		Source: "dir:/recipes", Counts: map[catalog.ChangeKind]int{catalog.Create: 1}, Changes: []catalog.Change{{Name: "alpha", Kind: catalog.Create}},
		Broken: []catalog.BrokenRecipe{{File: "x.json", Problems: []catalog.Problem{{Code: catalog.CodeSyntax, Message: "is no JSON"}}}},
	}}
	w := newWorld(t, func(o *Options) { o.Seeder = seeder })
	if got := w.admin("POST", "/admin/seed", ""); got.status != http.StatusOK || !strings.Contains(got.body, `"counts":{"create":1}`) || !strings.Contains(got.body, "is no JSON") {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.admin("POST", "/admin/seed?dryRun=All", "")
	if diff := cmp.Diff([]bool{false, true}, seeder.dryRun); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]httpapi.Act{{Name: "seed", Target: "dir:/recipes"}}, w.told()); diff != "" {
		t.Error(diff)
	}
	seeder.err = errors.New("the folder is empty")
	if got := w.admin("POST", "/admin/seed", ""); got.status != http.StatusBadGateway || !strings.Contains(got.body, "the folder is empty") {
		t.Errorf("%d %s", got.status, got.body)
	}
	seeder.err = catalog.ChangeErrors{{Name: "alpha", Err: errors.New("no room")}}
	if got := w.admin("POST", "/admin/seed", ""); got.status != http.StatusBadGateway || !strings.Contains(got.body, `"problems":[{"name":"alpha","message":"no room"}]`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if acts := w.told(); len(acts) != 2 || !acts[0].Unsure {
		t.Errorf("audited as %+v", acts)
	}
}
