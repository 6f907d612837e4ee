// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var accepted = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// itemOf returns a recipe as the catalog serves it.
func itemOf(t *testing.T, source string) *search.Item {
	t.Helper()
	doc := must.Value(recipe.Parse([]byte(source)))(t)
	r := doc.Recipe
	text := catalog.SourceOf(r)
	return search.NewItem(catalog.Entry{Name: r.ID, Recipe: r, Accepted: true, Versions: []catalog.Version{
		{Version: catalog.VersionOf(r, catalog.Digest(text)), Digest: catalog.Digest(text), At: accepted, Recipe: r, Source: text},
	}})
}

// officialList is the official registry's own schema of its lists.
func officialList(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	b := must.Value(os.ReadFile("testdata/schemas.json"))(t)
	var s jsonschema.Schema
	must.Succeed(t, json.Unmarshal(b, &s))
	s.Ref = "#/$defs/ServerList"
	return must.Value(s.Resolve(nil))(t)
}

func validate(t *testing.T, schema *jsonschema.Resolved, list List) error {
	t.Helper()
	b := must.Value(json.Marshal(list))(t)
	var doc any
	must.Succeed(t, json.Unmarshal(b, &doc))
	return schema.Validate(doc)
}

func TestEachRecipeOfTheSeedIsAServerOfTheOfficialRegistry(t *testing.T) {
	schema := officialList(t)
	files, err := filepath.Glob("../../../config/recipes/*/recipe.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recipes, %v", len(files), err)
	}
	for _, file := range files {
		b := must.Value(os.ReadFile(file))(t)
		item := itemOf(t, string(b))
		response := Of(item, 0, "com.example.catalog")
		if err := validate(t, schema, List{Servers: []Response{response}, Metadata: Metadata{Count: 1}}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if len(response.Server.Packages)+len(response.Server.Remotes) == 0 && item.View.Listing.HostedSafe {
			t.Errorf("%s: nothing is left of how to run it", file)
		}
	}
	broken := Of(itemOf(t, full), 0, "no slash allowed/")
	if validate(t, schema, List{Servers: []Response{broken}}) == nil {
		t.Error("the schema takes anything")
	}
}

const full = `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","recipeVersion":"1.1.0",
	"repository":"https://github.com/example/notes","metadata":{"homepage":"https://notes.example.com"},
	"auth":{"required":true,"type":"api-key","envVars":["NOTES_TOKEN","REGION","HOST"]},
	"transports":[
		{"type":"stdio","command":"npx","args":["-y","--prefer-offline","@example/notes@1.2.3","--url","https://${HOST:-a.example}/"],
		 "env":{"NOTES_TOKEN":"${NOTES_TOKEN}","MODE":"fast","WHERE":"eu-${REGION}"}},
		{"type":"streamable-http","url":"https://${HOST:-a.example}/mcp","headers":{"X-Region":"${REGION}"},"auth":{"type":"bearer","token":"${NOTES_TOKEN}"}}],
	"install":{"method":"npx","package":"@example/notes","version":"1.2.3"}}`

func TestARecipeIsWrittenAsAServer(t *testing.T) {
	item := itemOf(t, full)
	item.Entry.Deprecated = &catalog.Deprecation{Since: accepted, Reason: "Old.", ReplacedBy: "memo"}
	host := map[string]Input{"HOST": {IsSecret: true, Default: "a.example"}}
	secret := Input{IsRequired: true, IsSecret: true}
	want := Response{
		Server: Server{
			Schema: schema, Name: "com.example/notes", Title: "Notes", Description: "Keeps notes.", Version: "1.1.0",
			WebsiteURL: "https://notes.example.com", Repository: &Repository{"https://github.com/example/notes", "github"},
			Packages: []Package{{
				RegistryType: "npm", Identifier: "@example/notes", Version: "1.2.3", RuntimeHint: "npx", Transport: Transport{"stdio"},
				RuntimeArguments: []Argument{{Type: "positional", Value: "--prefer-offline"}},
				PackageArguments: []Argument{{Type: "positional", Value: "--url"}, {Type: "positional", Value: "https://{HOST}/", Variables: host}},
				EnvironmentVariables: []KeyValue{
					{Name: "NOTES_TOKEN", Input: secret}, {Name: "MODE", Value: "fast"},
					{Name: "WHERE", Value: "eu-{REGION}", Variables: map[string]Input{"REGION": secret}},
				},
			}},
			Remotes: []Remote{{
				Type: "streamable-http", URL: "https://{HOST}/mcp", Variables: host,
				Headers: []KeyValue{
					{Name: "X-Region", Value: "{REGION}", Variables: map[string]Input{"REGION": secret}},
					{Name: "Authorization", Value: "Bearer {NOTES_TOKEN}", Variables: map[string]Input{"NOTES_TOKEN": secret}},
				},
			}},
		},
		Meta: Meta{
			Official: Official{Status: "deprecated", StatusChangedAt: accepted, StatusMessage: "Old. Use memo instead.", PublishedAt: accepted, UpdatedAt: accepted, IsLatest: true},
			Catalog:  Listing{Recipe: "notes", HostedSafe: true},
		},
	}
	if diff := cmp.Diff(want, Of(item, 0, "com.example")); diff != "" {
		t.Error(diff)
	}
}

func TestTheOptionOfAPackageStaysBeforeIt(t *testing.T) {
	const source = `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","repository":"https://github.com/example/notes","transports":[{"type":"stdio","command":"npx","args":["-y","--package=@example/notes@1.2.3","serve","--all"]}],"install":{"method":"npx","package":"@example/notes","version":"1.2.3"}}`
	p := Of(itemOf(t, source), 0, "com.example").Server.Packages[0]
	before := []Argument{{Type: "positional", Value: "--package"}}
	after := []Argument{{Type: "positional", Value: "serve"}, {Type: "positional", Value: "--all"}}
	if diff := cmp.Diff([][]Argument{before, after}, [][]Argument{p.RuntimeArguments, p.PackageArguments}); diff != "" {
		t.Error(diff)
	}
}

func TestAServerThatIsReadAgainRunsTheSame(t *testing.T) {
	for name, source := range map[string]string{
		"npm":  full,
		"pypi": `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","repository":"https://github.com/example/notes","transports":[{"type":"stdio","command":"uvx","args":["notes@1.2.3","--fast"]}],"install":{"method":"uvx","package":"notes","version":"1.2.3"}}`,
		"oci":  `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","repository":"https://github.com/example/notes","auth":{"required":true,"type":"api-key","envVars":["TOKEN"]},"transports":[{"type":"stdio","command":"docker","args":["run","-i","--rm","-e","TOKEN","example/notes:1.2.3","serve"],"env":{"TOKEN":"${TOKEN}"}}],"install":{"method":"docker","image":"example/notes:1.2.3"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			item := itemOf(t, source)
			b := must.Value(json.Marshal(Of(item, 0, "com.example").Server))(t)
			doc, err := recipe.Parse(b)
			if err != nil {
				t.Fatalf("%v in %s", err, b)
			}
			was, is := item.Entry.Recipe.Transports[0], doc.Recipe.Transports[0]
			// Defaults are left to who asks for the values.
			plain := func(args []string) []string {
				var out []string
				for _, a := range args {
					out = append(out, strings.ReplaceAll(a, ":-a.example", ""))
				}
				return slices.DeleteFunc(out, func(a string) bool { return a == "-y" })
			}
			if diff := cmp.Diff(plain(was.Args), plain(is.Args)); diff != "" || was.Command != is.Command {
				t.Errorf("%s in %s", diff, b)
			}
			if diff := cmp.Diff(item.Entry.Recipe.Install.Version, doc.Recipe.Install.Version); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	if got := cut(strings.Repeat("é", 101), 100); got != strings.Repeat("é", 99)+"…" {
		t.Error(got)
	}
	if got := cut("short", 5); got != "short" {
		t.Error(got)
	}
}
