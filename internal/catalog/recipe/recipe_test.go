// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1/recipefile"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const v1Recipe = `{"schemaVersion":1,"name":"My Notes","description":"Keeps notes","transport":"stdio","command":"npx",
	"args":["-y","@example/notes@1.2.3"],"env":{"TOKEN":"${NOTES_TOKEN}"},"authRequired":true,
	"credentialsUrl":"https://example.com/keys","homepage":"https://example.com"}`

const serverJSONRecipe = `{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.example/notes",
	"description":"Keeps notes","version":"2.0.0","repository":{"url":"https://github.com/example/notes","source":"github"},
	"packages":[
		{"registryType":"nuget","identifier":"Notes","version":"2.0.0","transport":{"type":"stdio"}},
		{"registryType":"pypi","identifier":"notes","version":"2.0.0","transport":{"type":"stdio"},
		 "packageArguments":[{"type":"named","name":"--dir","value":"{folder}","variables":{"folder":{"isRequired":true}}},{"type":"positional","value":"serve"}],
		 "environmentVariables":[{"name":"NOTES_TOKEN","isRequired":true,"isSecret":true},{"name":"NOTES_REGION","default":"eu$1"},{"name":"NOTES_LEVEL"}]}],
	"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{"isRequired":true}},
		"headers":[{"name":"X-Key","isRequired":true,"isSecret":true},{"name":"Authorization","value":"Bearer {key}","variables":{"key":{"isSecret":true}}}]}]}`

func TestParseTakesAllFormats(t *testing.T) {
	tests := map[string]struct {
		in       string
		format   Format
		choice   Choice
		warnings []string
		want     bridgeconfig.Server
	}{
		"version 2": {signable, V2, Choice{}, nil,
			bridgeconfig.Server{Name: "notes", Description: "Keeps notes", Transport: "streamable-http", URL: "https://notes.example.com/mcp"}},
		"version 1": {v1Recipe, V1, Choice{}, nil,
			bridgeconfig.Server{Name: "my-notes", Description: "Keeps notes", Transport: "stdio", Secrets: []string{"NOTES_TOKEN"},
				Program: &bridgeconfig.Program{Command: []string{"npx", "-y", "@example/notes@1.2.3"}, Env: []bridgeconfig.Variable{{Name: "TOKEN", Value: "${NOTES_TOKEN}"}}}}},
		"server.json, its package": {serverJSONRecipe, ServerJSON, Choice{}, []string{"packages[0]: registry \"nuget\": unknown field, ignored"},
			bridgeconfig.Server{Name: "notes", Description: "Keeps notes", Transport: "stdio", Secrets: []string{"FOLDER", "NOTES_TOKEN", "NOTES_REGION", "NOTES_LEVEL"},
				Program: &bridgeconfig.Program{Command: []string{"uvx", "notes@2.0.0", "--dir", "${FOLDER}", "serve"},
					Env: []bridgeconfig.Variable{{Name: "NOTES_TOKEN", Value: "${NOTES_TOKEN}"}, {Name: "NOTES_REGION", Value: "${NOTES_REGION:-eu$$1}"}, {Name: "NOTES_LEVEL", Value: "${NOTES_LEVEL:-}"}}}}},
		"server.json, its remote": {serverJSONRecipe, ServerJSON, Choice{Transport: StreamableHTTP, Name: "n"}, []string{"packages[0]: registry \"nuget\": unknown field, ignored"},
			bridgeconfig.Server{Name: "n", Description: "Keeps notes", Transport: "streamable-http", URL: "https://${TENANT}.example.com/mcp", Secrets: []string{"TENANT", "X_KEY", "KEY"},
				Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${X_KEY}"}, {Name: "Authorization", Value: "Bearer ${KEY}"}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := must.Value(Parse([]byte(tt.in)))(t)
			if d.Format != tt.format {
				t.Errorf("format %s", d.Format)
			}
			if diff := cmp.Diff(tt.warnings, d.Warnings); diff != "" {
				t.Error(diff)
			}
			c := must.Value(Convert(d.Recipe, tt.choice))(t)
			if diff := cmp.Diff(tt.want, c.Server); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseSaysAllThatIsWrong(t *testing.T) {
	_, err := Parse([]byte(`{"schemaVersion":2,"id":"-a","name":"","description":"d","Transports":[],"localOnly":3,
		"transports":[{"type":"stdio","args":["${TOKEN}",1]},{"type":"sse","url":"ftp://x","framing":"x","auth":{"type":"oauth2","grantType":"authorization_code","tokenUrl":"https://x"}},{"type":"pigeon"},
			{"type":"streamable-http","url":"https://x","auth":{"type":"bearer"}},{"type":"streamable-http","url":"https://x","auth":{"type":"header"}},{"type":"streamable-http","url":"https://x","auth":{"type":"magic"}},
			{"type":"sse","url":"https://x","auth":{"type":"oauth2","grantType":"authorization_code","authorizationUrl":"https://x"}}],
		"auth":{"required":true,"type":"magic","credentialsUrl":"javascript:1","bootstrap":"x"},
		"install":{"method":"npx","configFiles":[{"name":"../x"},{"name":"` + strings.Repeat("f", 129) + `"}],"toolsHash":"md5","storage":{"size":"0","mountPath":"/usr/x","paths":{"A":"../x","` + strings.Repeat("B", 129) + `":"x"}}},"metadata":{"origin":"x","sideEffects":"x","sources":["javascript:1"],"checked":"x"}}`))
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("error = %v", err)
	}
	paths := map[string]bool{}
	for _, p := range invalid.Problems {
		paths[p.Path] = true
	}
	for _, path := range []string{
		"id", "name", "localOnly", "repository", "transports[0].command", "transports[0].args[0]", "transports[0].args[1]", "transports[1].url", "transports[1].framing",
		"transports[6].auth.tokenUrl", "transports[1].auth.authorizationUrl", "transports[2].type", "transports[3].auth.token", "transports[4].auth.headers", "transports[5].auth.type",
		"auth.type", "auth.credentialsUrl", "auth.bootstrap", "install.package", "install.configFiles[0].name", "install.configFiles[1].name", "install.toolsHash", "install.storage.size", "install.storage.mountPath", "install.storage.paths.A", "install.storage.paths." + strings.Repeat("B", 40), "metadata.origin", "metadata.sideEffects",
		"metadata.sources[0]", "metadata.checked",
	} {
		if !paths[path] {
			t.Errorf("nothing is said of %s", path)
		}
		delete(paths, path)
	}
	if len(paths) > 0 {
		t.Errorf("wrongly complained of %v", paths)
	}
	for name, text := range map[string]string{"not an object": "[]", "too long": strings.Repeat(" ", MaxBytes+1), "not JSON": "{", "no transports": `{"schemaVersion":2,"id":"ab","name":"n","description":"d","repository":"r"}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// manyVariables returns a text with so many different variables.
func manyVariables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "${A%d}", i)
	}
	return b.String()
}

func TestARecipeHasSoManyVariablesAndNoMore(t *testing.T) {
	with := func(used string, declared int) []jsondoc.Problem {
		names := make([]string, declared)
		for i := range names {
			names[i] = fmt.Sprintf("A%d", i)
		}
		return Validate(Recipe{
			SchemaVersion: 2, ID: "ab", Name: "n", Description: "d", Repository: "r", Auth: &Auth{EnvVars: names},
			Transports: []Transport{{Type: StreamableHTTP, URL: "https://example.com/" + used}},
		})
	}
	if found := with(manyVariables(maxVariables), maxVariables); len(found) > 0 {
		t.Errorf("as many as there may be: %v", found)
	}
	for name, found := range map[string][]jsondoc.Problem{
		"one too many":       with("", maxVariables+1),
		"many and all named": with(manyVariables(20_000), 20_000),
	} {
		if len(found) != 1 || found[0].Path != "auth.envVars" {
			t.Errorf("%s: %d problems, %v", name, len(found), found[0])
		}
	}
	// What is not named is looked for among so many that comparing them with
	// each other takes no time.
	if names := variablesOf(Transport{URL: manyVariables(30_000), Args: []string{manyVariables(100)}}); len(names) != maxVariables+1 {
		t.Errorf("%d variables were collected", len(names))
	}
	install := &Install{Platforms: map[string]Platform{"linux": {Args: []string{"${OTHER}"}}}}
	for declared, want := range map[int]int{maxVariables: 1, maxVariables + 1: 0} {
		if found := Undeclared(Recipe{Auth: &Auth{EnvVars: make([]string, declared)}, Install: install}); len(found) != want {
			t.Errorf("with %d names, %d others were looked for", declared, len(found))
		}
	}
	_, err := Parse([]byte(`{"name":"notes","description":"d","homepage":"https://example.com","transport":"sse","url":"https://example.com/` + manyVariables(20_000) + `"}`))
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || len(invalid.Problems) != 1 || invalid.Problems[0].Path != "auth.envVars" {
		t.Errorf("version 1: %.500v", err)
	}
}

// TestARecipeHasSoManyTransportsAndPlatformsAndNoMore holds also that nothing of
// them is looked at where there are more: each has a fault that nobody names.
func TestARecipeHasSoManyTransportsAndPlatformsAndNoMore(t *testing.T) {
	with := func(transports, platforms int, command string) []jsondoc.Problem {
		r := Recipe{
			SchemaVersion: 2, ID: "ab", Name: "n", Description: "d", Repository: "r",
			Install: &Install{Method: "binary", Platforms: map[string]Platform{}},
		}
		for range transports {
			r.Transports = append(r.Transports, Transport{Type: Stdio, Command: command})
		}
		for i := range platforms {
			r.Install.Platforms[fmt.Sprint("p", i)] = Platform{Command: "x"}
		}
		return Validate(r)
	}
	if found := with(maxTransports, maxPlatforms, "x"); len(found) > 0 {
		t.Errorf("as many as there may be: %v", found)
	}
	for name, tt := range map[string]struct {
		found []jsondoc.Problem
		paths []string
	}{
		"one transport too many": {with(maxTransports+1, 0, ""), []string{"transports"}},
		"one platform too many":  {with(1, maxPlatforms+1, ""), []string{"install.platforms"}},
		"many of both":           {with(2_900, 6_500, ""), []string{"transports", "install.platforms"}},
	} {
		var paths []string
		for _, p := range tt.found {
			paths = append(paths, p.Path)
		}
		if diff := cmp.Diff(tt.paths, paths); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestARecipeWithManyFaultsIsRefusedBriefly(t *testing.T) {
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	const head = `"schemaVersion":2,"id":"ab","name":"n","description":"d","repository":"r"`
	const files = `,"transports":[{"type":"sse","url":"https://example.com"}],"install":{"method":"binary","configFiles":`
	for name, text := range map[string]string{
		"items of another kind": `{` + head + `,"metadata":{"tags":` + list("1", 100_000) + `}}`,
		"broken rules":          `{` + head + files + list(`{"name":"/"}`, 10_000) + `}}`,
		"both":                  `{` + head + `,"metadata":{"tags":` + list("1", 50_000) + `}` + files + list(`{"name":"/"}`, 5_000) + `}}`,
	} {
		_, err := Parse([]byte(text))
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || len(invalid.Problems) != jsondoc.MaxProblems+1 || !strings.HasSuffix(err.Error(), " more") {
			t.Errorf("%s: %.500v", name, err)
		}
	}
	d, err := Parse([]byte(`{"name":"a/notes","description":"d","version":"1.0.0","remotes":[{"type":"sse","url":"https://example.com"}],"packages":` + list("{}", 50_000) + `}`))
	if err != nil || len(d.Warnings) != jsondoc.MaxProblems+1 || d.Warnings[jsondoc.MaxProblems] != "and 49900 more unknown fields, ignored" {
		t.Errorf("%d warnings, %v", len(d.Warnings), err)
	}
	r := Recipe{Skill: &Skill{Gotchas: make([]recipefile.RecipeGotcha, 10_000), Workflows: make([]recipefile.RecipeWorkflow, maxWarnings)}}
	if w := Warnings(r, time.Time{}); len(w) != 2*maxWarnings+1 || w[maxWarnings] != "and 9980 more of them" {
		t.Errorf("%d warnings", len(w))
	}
}

func TestAVariableOfAServerJSONIsWrittenOnce(t *testing.T) {
	variables := jsondoc.Ordered[registryInput]{{Name: "host"}, {Name: "HOST"}, {Name: "none"}}
	if got := braced("https://{host}/{HOST}/{other}/{}/{", variables); got != "https://${HOST}/${HOST}/{other}/{}/{" {
		t.Error(got)
	}
}

// TestNamesAreComparedExactly holds that what is signed is what runs: Go's own
// decoder would take Id for id.
func TestNamesAreComparedExactly(t *testing.T) {
	d, err := Parse([]byte(strings.Replace(signable, `"id"`, `"Id":"bank","id"`, 1)))
	if err != nil || d.Recipe.ID != "notes" || len(d.Warnings) != 1 {
		t.Errorf("id %q, warnings %q, %v", d.Recipe.ID, d.Warnings, err)
	}
}

func TestWarnings(t *testing.T) {
	r := Recipe{
		Metadata: Metadata{LastVerified: "2026-01-01", Category: "magic", Maturity: "deprecated", Origin: "official"},
		Install:  &Install{Method: "npx", Package: "@modelcontextprotocol/x", PreInstall: []string{"rm -rf /"}},
		Skill:    &Skill{Gotchas: []recipefile.RecipeGotcha{{}}, Workflows: []recipefile.RecipeWorkflow{{ID: "x"}}},
	}
	for _, want := range []string{"90 days", "category", "deprecated", "preInstall", "version", "official", "gotchas[0]", "workflows[0]"} {
		if got := strings.Join(Warnings(r, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)), "\n"); !strings.Contains(got, want) {
			t.Errorf("no warning of %s in %s", want, got)
		}
	}
	if got := Warnings(Recipe{Metadata: Metadata{LastVerified: "2026-05-01"}}, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)); got != nil {
		t.Errorf("warnings %q", got)
	}
}
