// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// names returns the ids in a list.
func names(t *testing.T, r reply, member string) []string {
	t.Helper()
	var all map[string]json.RawMessage
	r.into(t, &all)
	var items []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(all[member], &items); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	ids := []string{}
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

func TestListsHoldWhatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha", "beta", "gamma")
	w.admin(http.MethodPut, "/admin/recipes/beta/quality", `{"verified":true,"score":90}`)
	for target, want := range map[string][]string{
		"/recipes":                                    {"alpha", "beta", "gamma"},
		"/recipes?sort=quality":                       {"beta", "alpha", "gamma"},
		"/recipes?verified=true":                      {"beta"},
		"/recipes?verified=false&sort=name":           {"alpha", "gamma"},
		"/recipes?category=tools&tag=first&limit=100": {"alpha", "beta", "gamma"},
		"/recipes?category=none":                      {},
		"/recipes?transport=sse":                      {},
		"/recipes?transport=stdio&hostedSafe=true":    {"alpha", "beta", "gamma"},
		"/recipes?owner=seed&q=gam":                   {"gamma"},
		"/recipes?q=":                                 {"alpha", "beta", "gamma"},
		"/recipes?deprecated=true":                    {},
		"/search?q=server+beta":                       {"beta"},
		"/search?q=%62eta":                            {"beta"},
	} {
		got := w.get(target)
		if got.status != http.StatusOK {
			t.Errorf("%s: %d %s", target, got.status, got.body)
			continue
		}
		if diff := cmp.Diff(want, names(t, got, "recipes")); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
		origin := "/api" + target
		if got := w.get(origin); got.status != http.StatusOK || cmp.Diff(want, names(t, got, "results")) != "" {
			t.Errorf("%s: %d %s", origin, got.status, got.body)
		}
	}
}

func TestPagesFollowOneAnother(t *testing.T) {
	w := newWorld(t)
	w.seeded("aa", "bb", "cc", "dd", "ee")
	var all []string
	cursor := ""
	for range 3 {
		var page struct {
			Total int
			Next  string
		}
		got := w.get("/recipes?sort=name&limit=2&cursor=" + cursor)
		got.into(t, &page)
		if page.Total != 5 {
			t.Errorf("total is %d", page.Total)
		}
		all = append(all, names(t, got, "recipes")...)
		cursor = page.Next
	}
	if diff := cmp.Diff([]string{"aa", "bb", "cc", "dd", "ee"}, all); diff != "" || cursor != "" {
		t.Errorf("%s, next %q", diff, cursor)
	}
}

func TestAQueryThatIsNotTakenSaysWhatIs(t *testing.T) {
	w := newWorld(t)
	for target, says := range map[string]string{
		"/recipes?page=2":                        "The parameters are category, cursor,",
		"/recipes?limit=0":                       "limit must be a number from 1 to 100",
		"/recipes?limit=101":                     "limit must be a number from 1 to 100",
		"/recipes?sort=best":                     "is not known: use one of popular, updated, name, quality, relevance",
		"/recipes?cursor=x":                      "cursor must be the one",
		"/recipes?verified=yes":                  "verified must be true or false",
		"/recipes?q=a&q=b":                       "q is given more than once",
		"/search":                                "q is missing",
		"/search?q=":                             "q is missing",
		"/api/search?limit=2":                    "q is missing",
		"/recipes?q=" + strings.Repeat("a", 257): "must have at most 256 bytes",
	} {
		got := w.get(target)
		if got.status != http.StatusBadRequest || got.code() != "query_invalid" || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
}

func TestTargetsAreTakenAsTheyAre(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{
		"/recipes/", "/recipes/A", "/recipes/a", "/recipes/%61b", "/recipes/ab/", "/recipes/-ab", "/recipes/ab/x",
		"/recipes/ab?x=1", "/recipes?a", "/recipes?q=a;b", "/recipes?q=%zz", "/recipes?q=a#b&", "/admin/publishers/ab/keys/short",
		"/admin/recipes/ab/x", "/api/recipes/ab/downloads", "/api", "/admin/seed?dryRun=All&x=1", "/recipes/ab/versions/..",
	} {
		if got := w.get(target); got.status != http.StatusTeapot && !strings.Contains(target, "#") {
			if got.status != http.StatusBadRequest {
				t.Errorf("%s: %d", target, got.status)
			}
		}
	}
}

func TestARecipeIsReadInAllItsForms(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	w.admin(http.MethodPut, "/admin/recipes/alpha/quality", `{"badge":"gold"}`)
	var view struct {
		ID      string
		Badge   string
		Catalog struct{ Version, Owner string }
		Recipe  struct{ ID string }
	}
	for _, target := range []string{"/recipes/alpha", "/api/recipes/alpha"} {
		w.get(target).into(t, &view)
		if view.ID != "alpha" || view.Badge != "gold" || view.Catalog.Version != "1.0.0" || view.Catalog.Owner != "seed" || view.Recipe.ID != "alpha" {
			t.Errorf("%s: %+v", target, view)
		}
	}
	var kept struct{ Versions []listedVersion }
	w.get("/recipes/alpha/versions").into(t, &kept)
	if len(kept.Versions) != 1 || kept.Versions[0].Version != "1.0.0" || !kept.Versions[0].Current || !kept.Versions[0].AcceptedAt.Equal(today) {
		t.Errorf("versions: %+v", kept)
	}
	for _, target := range []string{"/api/recipes/alpha/download", "/recipes/alpha/versions/1.0.0"} {
		got := w.get(target)
		// As the bridge on a person's own machine reads it.
		if doc, err := recipe.Parse([]byte(got.body)); err != nil || doc.Recipe.ID != "alpha" {
			t.Errorf("%s: %v %s", target, err, got.body)
		}
	}
	for target, code := range map[string]string{
		"/recipes/none": "recipe_not_found", "/api/recipes/none/download": "recipe_not_found",
		"/recipes/none/versions": "recipe_not_found", "/recipes/alpha/versions/2.0.0": "version_not_found",
	} {
		if got := w.get(target); got.status != http.StatusNotFound || got.code() != code {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
}

func TestWhatDidNotChangeIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha", "beta")
	for _, target := range []string{"/recipes", "/search?q=alpha", "/api/recipes", "/recipes/alpha", "/recipes/alpha/versions", "/api/recipes/alpha/download"} {
		first := w.get(target)
		tag := first.header.Get("ETag")
		if tag == "" || first.header.Get("Cache-Control") != "public, no-cache" {
			t.Errorf("%s: %v", target, first.header)
		}
		for _, same := range []string{tag, "W/" + strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			if got := w.get(target, "If-None-Match", same); got.status != http.StatusNotModified || got.body != "" || got.header.Get("ETag") != tag {
				t.Errorf("%s with %s: %d %q", target, same, got.status, got.body)
			}
		}
		if got := w.get(target, "If-None-Match", `"other"`); got.status != http.StatusOK {
			t.Errorf("%s with another tag: %d", target, got.status)
		}
		w.admin(http.MethodPut, "/admin/recipes/alpha/quality", `{"notes":"`+strings.Trim(target, "/")+`"}`)
		if got := w.get(target, "If-None-Match", tag); got.status != http.StatusOK || got.header.Get("ETag") == tag {
			t.Errorf("%s after a change: %d", target, got.status)
		}
	}
}

func TestEntityTagsAreSplitWhereTheyEnd(t *testing.T) {
	for field, want := range map[string][]string{
		``:                   nil,
		`"a"`:                {`"a"`},
		`W/"a" , "b,c",,"d"`: {`W/"a"`, `"b,c"`, `"d"`},
		`a`:                  nil,
		`"a`:                 nil,
		`"a", b"c"`:          {`"a"`},
		`"a" W/"b"`:          {`"a"`, `W/"b"`},
	} {
		if diff := cmp.Diff(want, splitTags(field)); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

func FuzzEntityTags(f *testing.F) {
	f.Add(`W/"a" , "b,c",,"d"`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, field string) {
		for _, tag := range splitTags(field) {
			if !strings.HasSuffix(tag, `"`) || strings.Count(tag, `"`) != 2 || !strings.Contains(field, tag) {
				t.Errorf("%q has the tag %q", field, tag)
			}
		}
		if revision, err := ifMatch(&http.Request{Header: http.Header{"If-Match": {field}}}); err == nil && strings.Contains(revision, `"`) {
			t.Errorf("%q names the revision %q", field, revision)
		}
	})
}

func TestNothingIsReadBeforeTheCatalogIs(t *testing.T) {
	w := newWorld(t)
	key := w.publisher("acme")
	w.store.unsynced = true
	for _, target := range []string{"/recipes", "/search?q=a", "/api/recipes", "/recipes/ab", "/recipes/ab/versions", "/api/recipes/ab/download"} {
		if got := w.get(target); got.status != http.StatusServiceUnavailable || got.code() != "catalog_not_read" || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	if got := w.do(http.MethodPost, "/recipes", recipeOf("alpha", "1.0.0"), key...); got.code() != "catalog_not_read" {
		t.Errorf("a write: %d %s", got.status, got.body)
	}
	if got := w.admin(http.MethodGet, "/admin/publishers", ""); got.code() != "catalog_not_read" {
		t.Errorf("publishers: %d %s", got.status, got.body)
	}
}

func TestTheOriginsListsSayWhatItsClientShows(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	w.admin(http.MethodPut, "/admin/recipes/alpha/quality", `{"verified":true,"badge":"gold","score":80}`)
	var page struct {
		Results []mcpBridgeItem
		Total   int
	}
	w.get("/api/recipes?limit=5&sort=popular&hostedSafe=true").into(t, &page)
	want := mcpBridgeItem{
		ID: "alpha", Name: "alpha", Title: "Server alpha", Description: "Does something with alpha.", Category: "tools",
		Tags: []string{"first"}, Quality: new(80), Transports: []string{"stdio"}, Version: "1.0.0", HostedSafe: true,
		Badges: []string{"verified", "gold"},
	}
	if diff := cmp.Diff([]mcpBridgeItem{want}, page.Results); diff != "" || page.Total != 1 {
		t.Errorf("%s, total %d", diff, page.Total)
	}
}

var _ Store = (*fakeStore)(nil)
