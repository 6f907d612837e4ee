// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// catalogIsPublished takes a recipe through its life.
func catalogIsPublished(t *testing.T) {
	p, name := newPublisher(t, "author"), installed.name("life")
	file := p.signed(t, remote(name, left, "1.0.0"))
	p.must(t, http.StatusOK, http.MethodPost, "/recipes?dryRun=All", file)
	for _, other := range otherFormats {
		p.must(t, http.StatusOK, http.MethodPost, "/recipes?dryRun=All", other)
	}
	p.must(t, http.StatusNotFound, http.MethodGet, "/recipes/"+name, "")
	first := p.mustPublish(t, name, file)
	if a := p.must(t, http.StatusOK, http.MethodGet, "/api/recipes/"+name+"/download", ""); string(a.body) != file {
		t.Errorf("what is downloaded is not what was signed: %s", a.body)
	}

	path := "/recipes/" + name
	next := p.signed(t, remote(name, left, "1.1.0"))
	p.must(t, http.StatusOK, http.MethodPut, path+"?dryRun=All", next, "If-Match", `"`+first.Revision+`"`)
	var second written
	p.must(t, http.StatusOK, http.MethodPut, path, next, "If-Match", `"`+first.Revision+`"`).into(t, &second)
	if second.State != "served" || second.Version != "1.1.0" || second.Revision == first.Revision {
		t.Errorf("changed: %+v", second)
	}
	var versions struct{ Versions []struct{ Version string } }
	if p.must(t, http.StatusOK, http.MethodGet, path+"/versions", "").into(t, &versions); fmt.Sprint(versions.Versions) != "[{1.1.0} {1.0.0}]" {
		t.Errorf("versions: %v", versions)
	}

	p.must(t, http.StatusOK, http.MethodPut, path+"/deprecation", `{"reason":"There is a better one.","replacedBy":"airtable"}`)
	awaitRead(t, path, mentions("There is a better one."))
	p.must(t, http.StatusOK, http.MethodDelete, path+"/deprecation", "")
	if a := p.must(t, http.StatusOK, http.MethodGet, path, ""); strings.Contains(string(a.body), "There is a better one.") {
		t.Errorf("it is deprecated still: %s", a.body)
	}

	p.must(t, http.StatusNoContent, http.MethodDelete, path, "", "If-Match", "*")
	awaitRead(t, path, func(a answer) error {
		if a.status != http.StatusNotFound {
			return fmt.Errorf("status %d after it was deleted", a.status)
		}
		return nil
	})
}

// otherFormats are recipes as they were written before version 2, and as the
// official registry has them.
var otherFormats = []string{
	`{"schemaVersion":1,"name":"older","description":"Does it the old way.","transport":"streamable-http","url":"https://old.example.com/mcp","homepage":"https://old.example.com"}`,
	`{"name":"io.github.example/weather","description":"Weather","version":"1.0.2","websiteUrl":"https://weather.example.com",
		"remotes":[{"type":"streamable-http","url":"https://weather.example.com/mcp"}]}`,
}

func mentions(text string) func(answer) error {
	return func(a answer) error {
		if a.status != http.StatusOK || !strings.Contains(string(a.body), text) {
			return fmt.Errorf("status %d without %q: %.500s", a.status, text, a.body)
		}
		return nil
	}
}

// catalogRefuses asks for everything that is refused, and learns why.
func catalogRefuses(t *testing.T) {
	p, other := newPublisher(t, "refused"), newPublisher(t, "other")
	name := installed.name("taken")
	file := fileOf(t, remote(name, left, "1.0.0"))
	published := p.mustPublish(t, name, file)
	next := fileOf(t, remote(name, left, "1.1.0"))
	nobody, boss, own := newCurl(""), admin(t), "/recipes/"+name
	user := curl{p.client, mint(t).secret}
	for title, tt := range map[string]struct {
		by                 curl
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"a parameter that there is not":       {nobody, "GET", "/recipes?colour=red", "", nil, 400, "query_invalid"},
		"a page of too many":                  {nobody, "GET", "/recipes?limit=101", "", nil, 400, "query_invalid"},
		"a search for nothing":                {nobody, "GET", "/search", "", nil, 400, "query_invalid"},
		"analytics of a time that is none":    {boss, "GET", "/admin/analytics?from=yesterday", "", nil, 400, ""},
		"an If-Match that is none":            {p.curl, "PUT", own, next, []string{"If-Match", "first"}, 400, "if_match_invalid"},
		"a write with no key":                 {nobody, "POST", "/recipes", file, nil, 401, ""},
		"a write with a user's key":           {user, "POST", "/recipes", file, nil, 401, ""},
		"a write with the admin key":          {boss, "POST", "/recipes", file, nil, 401, ""},
		"an admin's act with no key":          {nobody, "POST", "/admin/seed", "", nil, 401, ""},
		"an admin's act with an author's":     {p.curl, "GET", "/admin/publishers", "", nil, 401, ""},
		"another's recipe":                    {other.curl, "PUT", own, next, []string{"If-Match", "*"}, 403, "not_owner"},
		"the deletion of another's":           {other.curl, "DELETE", own, "", []string{"If-Match", "*"}, 403, "not_owner"},
		"the deprecation of another's":        {other.curl, "PUT", own + "/deprecation", `{}`, nil, 403, "not_owner"},
		"a recipe of the seed":                {p.curl, "DELETE", "/recipes/airtable", "", []string{"If-Match", "*"}, 403, "not_owner"},
		"a recipe that there is not":          {nobody, "GET", "/recipes/there-is-none", "", nil, 404, "recipe_not_found"},
		"a version that there is not":         {nobody, "GET", own + "/versions/9.9.9", "", nil, 404, "version_not_found"},
		"a change of what there is not":       {p.curl, "PUT", "/recipes/there-is-none", next, []string{"If-Match", "*"}, 404, "recipe_not_found"},
		"a path that there is not":            {nobody, "GET", own + "/colour", "", nil, 404, ""},
		"a publisher that there is not":       {boss, "GET", "/admin/publishers/there-is-none", "", nil, 404, "publisher_not_found"},
		"a key that there is not":             {boss, "DELETE", "/admin/publishers/" + p.id + "/keys/0123456789", "", nil, 404, "key_not_found"},
		"a method that there is not":          {p.curl, "PATCH", own, next, nil, 405, ""},
		"a list that is written":              {p.curl, "PUT", "/recipes", next, nil, 405, ""},
		"an admin's act that is read":         {boss, "GET", "/admin/seed", "", nil, 405, ""},
		"a name that is taken":                {p.curl, "POST", "/recipes", file, nil, 409, "name_taken"},
		"a name that another has":             {other.curl, "POST", "/recipes", file, nil, 409, "name_taken"},
		"a publisher's id that is taken":      {boss, "POST", "/admin/publishers", `{"id":"` + p.id + `"}`, nil, 409, "name_taken"},
		"another revision than the present":   {p.curl, "PUT", own, next, []string{"If-Match", `"000000000000000000000000"`}, 412, "revision_changed"},
		"a recipe that is too long":           {p.curl, "POST", "/recipes", `{"description":"` + strings.Repeat("x", 256<<10) + `"}`, nil, 413, ""},
		"a form":                              {p.curl, "POST", "/recipes", "id=taken", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, ""},
		"a version that is not higher":        {p.curl, "PUT", own, strings.Replace(file, "how it was called", "nothing", 1), []string{"If-Match", "*"}, 422, "recipe_invalid"},
		"an overlay that is none":             {boss, "PUT", "/admin/recipes/" + name + "/quality", `{"score":101,"colour":"red"}`, nil, 422, "request_invalid"},
		"an owner that there is not":          {boss, "PUT", "/admin/recipes/" + name + "/owner", `{"owner":"there-is-none"}`, nil, 422, "owner_unknown"},
		"a publisher that cannot be":          {boss, "POST", "/admin/publishers", `{"id":"seed","publicKeys":["x"]}`, nil, 422, "request_invalid"},
		"a change of who knows what":          {p.curl, "PUT", own, next, nil, 428, "if_match_required"},
		"a dry run of a kind that is none":    {p.curl, "POST", "/recipes?dryRun=Some", file, nil, 400, "query_invalid"},
		"another's recipe, though only tried": {other.curl, "PUT", own + "?dryRun=All", next, []string{"If-Match", "*"}, 403, "not_owner"},
	} {
		a := tt.by.ask(t, tt.method, tt.path, tt.body, tt.headers...)
		if a.status != tt.status || tt.code != "" && a.code() != tt.code || a.code() == "" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, code %q, want %d, %q: %.500s", title, a.status, a.code(), tt.status, tt.code, a.body)
		}
	}
	t.Run("all that is wrong is named at once", func(t *testing.T) { allProblemsAreNamed(t, p) })
	var after struct{ Catalog struct{ Revision string } }
	if p.must(t, http.StatusOK, http.MethodGet, own, "").into(t, &after); after.Catalog.Revision != published.Revision {
		t.Errorf("a refused write has changed the recipe: %s, before %s", after.Catalog.Revision, published.Revision)
	}
}

// allProblemsAreNamed writes a recipe in which nearly everything is wrong.
func allProblemsAreNamed(t *testing.T, p publisher) {
	bad := remote(installed.name("bad"), left, "1.0.0")
	bad.Transports[0].URL = "http://example.com/mcp"
	bad.Transports[0].Headers[0].Value = "Bearer ${UNDECLARED}"
	bad.Metadata.SelfHosted = false
	bad.Transports = append(bad.Transports,
		recipe.Transport{Type: recipe.Stdio, Command: "sh", Args: []string{"-c", "ghp_" + strings.Repeat("a", 30)}},
		recipe.Transport{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/another"}})
	bad.Install = &recipe.Install{Method: "npx", Package: "@example/other", Version: "latest", PostInstall: []string{"make"}}
	file := strings.Replace(fileOf(t, bad), `{`, `{"colour":"red",`, 1)
	for _, path := range []string{"/recipes", "/recipes?dryRun=All"} {
		a := p.must(t, http.StatusUnprocessableEntity, http.MethodPost, path, file)
		var problem struct {
			Problems []struct{ Field, Code, Message string }
		}
		a.into(t, &problem)
		found := map[string]bool{}
		for _, one := range problem.Problems {
			found[one.Code+" "+one.Field] = one.Message != ""
		}
		for _, want := range []string{
			"unknown_field colour", "plain_http transports[0].url", "shell transports[1].command", "secret_value transports[1].args[1]",
			"unpinned install.version", "shell_hook install.postInstall", "drift transports[2].args",
		} {
			if !found[want] {
				t.Errorf("%s: %q is not among the problems %+v", path, want, problem.Problems)
			}
		}
		if !strings.Contains(string(a.body), "UNDECLARED") || strings.Contains(string(a.body), "ghp_aaa") {
			t.Errorf("%s: the variable is not named, or the credential is: %s", path, a.body)
		}
	}
	p.must(t, http.StatusNotFound, http.MethodGet, "/recipes/"+installed.name("bad"), "")
}
