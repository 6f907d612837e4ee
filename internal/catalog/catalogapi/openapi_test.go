// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// description returns the document as it is served.
func (w *world) description() *openapi3.T {
	w.t.Helper()
	return must.Value(openapi3.NewLoader().LoadFromData([]byte(w.get("/openapi.json").body)))(w.t)
}

func TestTheDescriptionIsOneOfOpenAPI(t *testing.T) {
	w := newWorld(t)
	doc := w.description()
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("it is of %s", doc.OpenAPI)
	}
	got := w.get("/openapi.json")
	if again := w.get("/openapi.json", "If-None-Match", got.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("it is sent again: %d", again.status)
	}
}

func TestTheDescriptionHasEachRouteAndNoOther(t *testing.T) {
	w := newWorld(t)
	doc := w.description()
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if slices.ContainsFunc(operation.Tags, func(tag string) bool { return slices.Contains([]string{"installation", "login", "scim", "user"}, tag) }) {
				continue // Others serve those; tests of cmd/ingress compare them.
			}
			access := httpapi.Public
			if operation.Security != nil {
				if access = httpapi.Keyed; (*operation.Security)[0]["adminKey"] != nil {
					access = httpapi.Admin
				}
			}
			described = append(described, method+" "+path+" "+strconv.Itoa(int(access))+" "+strconv.FormatBool(operation.RequestBody != nil))
		}
	}
	part := regexp.MustCompile(`:([A-Za-z]+)`)
	for _, r := range w.api.Routes() {
		served = append(served, r.Method+" "+part.ReplaceAllString(r.Path, "{$1}")+" "+strconv.Itoa(int(r.Access))+" "+strconv.FormatBool(r.MaxBody > 0))
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersAreAsTheDescriptionSays(t *testing.T) {
	seeder := &fakeSeeder{report: catalog.SeedReport{Source: "dir:/recipes", Counts: map[catalog.ChangeKind]int{catalog.None: 1}}}
	w := newWorld(t, func(o *Options) {
		o.Seeder, o.Program = seeder, func(recipe.Recipe) *catalog.Program { return installedProgram() }
	})
	doc := w.description()
	w.seeded("alpha")
	admin := []string{"Authorization", "Bearer admin"}
	key := w.publisher("acme")
	server := "/v0.1/servers/" + DefaultNamespace + "%2Falpha/versions"
	for _, test := range []struct {
		method, target, path, body string
		header                     []string
		status                     int
	}{
		{"PUT", "/admin/recipes/alpha/quality", "/admin/recipes/{name}/quality", `{"verified":true,"score":9}`, admin, 201},
		{"PUT", "/admin/recipes/alpha/quality?dryRun=All", "/admin/recipes/{name}/quality", `{"badge":"x"}`, admin, 200},
		{"PUT", "/admin/recipes/alpha/quality", "/admin/recipes/{name}/quality", `{"score":900}`, admin, 422},
		{"GET", "/recipes", "/recipes", "", nil, 200},
		{"GET", "/recipes?x=1", "/recipes", "", nil, 400},
		{"GET", "/search?q=alpha", "/search", "", nil, 200},
		{"GET", "/recipes/alpha", "/recipes/{name}", "", nil, 200},
		{"GET", "/recipes/none", "/recipes/{name}", "", nil, 404},
		{"GET", "/recipes/alpha/versions", "/recipes/{name}/versions", "", nil, 200},
		{"GET", "/recipes/alpha/program", "/recipes/{name}/program", "", nil, 200},
		{"GET", "/recipes/none/program", "/recipes/{name}/program", "", nil, 404},
		{"GET", "/recipes/alpha/versions/1.0.0", "/recipes/{name}/versions/{version}", "", nil, 200},
		{"GET", "/api/recipes", "/api/recipes", "", nil, 200},
		{"GET", "/api/search?q=alpha", "/api/search", "", nil, 200},
		{"GET", "/api/recipes/alpha", "/api/recipes/{name}", "", nil, 200},
		{"GET", "/api/recipes/alpha/download", "/api/recipes/{name}/download", "", nil, 200},
		{"GET", "/v0.1/servers", "/v0.1/servers", "", nil, 200},
		{"GET", server, "/v0.1/servers/{name}/versions", "", nil, 200},
		{"GET", server + "/latest", "/v0.1/servers/{name}/versions/{version}", "", nil, 200},
		{"POST", "/recipes", "/recipes", recipeOf("notes", "1.0.0"), key, 201},
		{"POST", "/recipes?dryRun=All", "/recipes", recipeOf("memo", "1.0.0"), key, 200},
		{"POST", "/recipes", "/recipes", `{"id":1}`, key, 422},
		{"PUT", "/recipes/notes", "/recipes/{name}", recipeOf("notes", "1.1.0"), header(key, match("*")), 200},
		{"PUT", "/recipes/notes", "/recipes/{name}", recipeOf("notes", "1.1.0"), key, 428},
		{"PUT", "/recipes/notes/deprecation", "/recipes/{name}/deprecation", `{"reason":"Old."}`, key, 200},
		{"DELETE", "/recipes/notes/deprecation", "/recipes/{name}/deprecation", ``, key, 200},
		{"PUT", "/admin/recipes/notes/owner", "/admin/recipes/{name}/owner", `{"owner":"seed"}`, admin, 200},
		{"POST", "/admin/publishers", "/admin/publishers", `{"id":"other","expires":"1d"}`, admin, 201},
		{"GET", "/admin/publishers", "/admin/publishers", ``, admin, 200},
		{"GET", "/admin/publishers/other", "/admin/publishers/{id}", ``, admin, 200},
		{"PUT", "/admin/publishers/other", "/admin/publishers/{id}", `{"contact":"x"}`, admin, 200},
		{"POST", "/admin/publishers/other/keys", "/admin/publishers/{id}/keys", ``, admin, 201},
		{"POST", "/admin/seed", "/admin/seed", ``, admin, 200},
	} {
		got := w.do(test.method, test.target, test.body, test.header...)
		described := doc.Paths.Find(test.path).GetOperation(test.method).Responses.Status(test.status)
		if got.status != test.status || described == nil {
			t.Errorf("%s %s: %d %s, described: %t", test.method, test.target, got.status, got.body, described != nil)
			continue
		}
		kind := "application/json"
		if test.status >= http.StatusBadRequest {
			kind = "application/problem+json"
		}
		var body any
		got.into(t, &body)
		if err := described.Value.Content[kind].Schema.Value.VisitJSON(body); err != nil || got.header.Get("Content-Type") != kind {
			t.Errorf("%s %s: %s: %v in %s", test.method, test.target, got.header.Get("Content-Type"), err, got.body)
		}
	}
}

func TestEachParameterIsDescribed(t *testing.T) {
	w := newWorld(t)
	doc := w.description()
	for path, taken := range map[string]parameters{
		"/recipes": listParameters, "/search": listParameters, "/api/recipes": listParameters, "/api/search": listParameters,
		"/v0.1/servers": registryParameters,
	} {
		described := map[string]bool{}
		for _, p := range doc.Paths.Find(path).Get.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				described[p.Value.Name] = true
			}
		}
		for name := range taken {
			if !described[name] {
				t.Errorf("%s: %s is not described", path, name)
			}
			delete(described, name)
		}
		if len(described) > 0 {
			t.Errorf("%s: nobody reads %v", path, described)
		}
	}
}
