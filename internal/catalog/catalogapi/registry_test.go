// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	official "github.com/hostedbridge/hostedbridge/internal/catalog/registry"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const serversPath = "/v0.1/servers"

// schemaOf returns a schema of the official registry.
func schemaOf(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	b := must.Value(os.ReadFile("../registry/testdata/schemas.json"))(t)
	var s jsonschema.Schema
	must.Succeed(t, json.Unmarshal(b, &s))
	s.Ref = "#/$defs/" + name
	return must.Value(s.Resolve(nil))(t)
}

func TestTheCatalogIsARegistryOfServers(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha", "beta", "gamma")
	key := w.publisher("acme")
	created := w.do(http.MethodPost, "/recipes", recipeOf("notes", "1.0.0"), key...)
	w.do(http.MethodPut, "/recipes/notes", recipeOf("notes", "1.1.0+build.1"), header(key, match(created.header.Get("ETag")))...)
	w.do(http.MethodPut, "/recipes/notes/deprecation", `{"reason":"Old."}`, key...)
	for target, want := range map[string][]string{
		serversPath:                 {"alpha 1.0.0", "beta 1.0.0", "gamma 1.0.0", "notes 1.1.0+build.1"},
		serversPath + "?search=BET": {"beta 1.0.0"},
		serversPath + "?search=dev.hostedbridge.catalog/n":                               {"notes 1.1.0+build.1"},
		serversPath + "?version=1.0.0":                                                   {"alpha 1.0.0", "beta 1.0.0", "gamma 1.0.0", "notes 1.0.0"},
		serversPath + "?version=latest&limit=1":                                          {"alpha 1.0.0"},
		serversPath + "?updated_since=2026-03-01T12:00:00Z&include_deleted=true&limit=2": {"alpha 1.0.0", "beta 1.0.0"},
		serversPath + "?updated_since=2026-03-02T12:00:00Z":                              {},
		serversPath + "/dev.hostedbridge.catalog%2Fnotes/versions":                       {"notes 1.1.0+build.1", "notes 1.0.0"},
		serversPath + "/dev.hostedbridge.catalog%2fnotes/versions":                       {"notes 1.1.0+build.1", "notes 1.0.0"},
	} {
		got := w.get(target)
		var raw any
		got.into(t, &raw)
		if err := schemaOf(t, "ServerList").Validate(raw); err != nil || got.status != http.StatusOK {
			t.Errorf("%s: %d %v", target, got.status, err)
		}
		var list official.List
		got.into(t, &list)
		names := []string{}
		for _, s := range list.Servers {
			names = append(names, strings.TrimPrefix(s.Server.Name, DefaultNamespace+"/")+" "+s.Server.Version)
		}
		if diff := cmp.Diff(want, names); diff != "" || list.Metadata.Count != len(want) {
			t.Errorf("%s: %s", target, diff)
		}
	}
	for version, want := range map[string]string{"latest": "1.1.0+build.1", "1.1.0%2Bbuild.1": "1.1.0+build.1", "1.1.0+build.1": "1.1.0+build.1", "1.0.0": "1.0.0"} {
		got := w.get(serversPath + "/dev.hostedbridge.catalog%2Fnotes/versions/" + version)
		var raw any
		got.into(t, &raw)
		if err := schemaOf(t, "ServerResponse").Validate(raw); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		var one official.Response
		got.into(t, &one)
		if one.Server.Version != want || one.Meta.Official.Status != "deprecated" || one.Meta.Official.IsLatest != (want != "1.0.0") {
			t.Errorf("%s: %+v", version, one)
		}
		if again := w.get(serversPath+"/dev.hostedbridge.catalog%2Fnotes/versions/"+version, "If-None-Match", got.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("%s is sent again: %d", version, again.status)
		}
	}
}

func TestATextIsAPartOfANameWithItsNamespace(t *testing.T) {
	const namespace, name = "com.example", "notes-of-all"
	for _, text := range []string{"com", "example/", "e/n", "/notes", "/", "of", "com.example/notes-of-all", "com.example/notes-of-all/", "x/n", "e/x", "e//n", "all/com", ""} {
		if got, want := inName(namespace, name, text), strings.Contains(namespace+"/"+name, text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestTheRegistrysPagesFollowOneAnother(t *testing.T) {
	w := newWorld(t)
	w.seeded("aa-x", "bb", "cc-x", "dd-x", "ee", "ff-x")
	var names []string
	target := serversPath + "?search=-x&limit=2"
	for range 2 {
		var list official.List
		w.get(target).into(t, &list)
		for _, s := range list.Servers {
			names = append(names, s.Meta.Catalog.Recipe)
		}
		target = serversPath + "?search=-x&limit=2&cursor=" + list.Metadata.NextCursor
	}
	if diff := cmp.Diff([]string{"aa-x", "cc-x", "dd-x", "ff-x"}, names); diff != "" || !strings.HasSuffix(target, "cursor=") {
		t.Errorf("%s, then %s", diff, target)
	}
}

func TestTheRegistryRefusesWhatItDoesNotHave(t *testing.T) {
	w := newWorld(t)
	w.seeded("alpha")
	const alpha = serversPath + "/dev.hostedbridge.catalog%2Falpha/versions"
	for target, want := range map[string]int{
		serversPath + "?status=active":                            http.StatusBadRequest,
		serversPath + "?updated_since=yesterday":                  http.StatusBadRequest,
		serversPath + "?limit=500":                                http.StatusBadRequest,
		serversPath + "?cursor=x":                                 http.StatusBadRequest,
		alpha + "?limit=1":                                        http.StatusBadRequest,
		alpha + "/9.9.9":                                          http.StatusNotFound,
		serversPath + "/dev.hostedbridge.catalog%2Fbeta/versions": http.StatusNotFound,
		// Those the ingress refuses.
		serversPath + "/dev.hostedbridge.catalog/alpha/versions":     http.StatusTeapot,
		serversPath + "/dev.hostedbridge.catalog%252Falpha/versions": http.StatusTeapot,
		serversPath + "/dev-hostedbridge-catalog%2Falpha/versions":   http.StatusTeapot,
		serversPath + "/io.github.acme%2Falpha/versions":             http.StatusTeapot,
		serversPath + "/dev.hostedbridge.catalog%2F..%2Fx/versions":  http.StatusTeapot,
		serversPath + "/dev.hostedbridge.catalog%2Falpha":            http.StatusTeapot,
		alpha + "/%2e%2e":  http.StatusTeapot,
		alpha + "/1.0%2F0": http.StatusTeapot,
	} {
		if got := w.get(target); got.status != want {
			t.Errorf("%s: %d %s, want %d", target, got.status, got.body, want)
		}
	}
}

func TestTheRegistrysNamespaceIsAReversedDomain(t *testing.T) {
	for namespace, ok := range map[string]bool{
		"com.example": true, "a": true, "": true, "com..example": false, "com/example": false, "-a": false, "a b": false, strings.Repeat("a", 121): false,
	} {
		_, err := New(Options{Store: newFakeStore(t), Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
		if (err == nil) != ok {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}

// TestTheInstallationIsInItsOwnRegistry has a recipe of the name of the installation's
// entry, which hides it.
func TestTheInstallationIsInItsOwnRegistry(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.URL = "https://bridge.example.com/" })
	w.seeded("alpha", installationName)
	const own = serversPath + "/dev.hostedbridge.catalog%2Fhosted-bridge/versions"
	for target, want := range map[string][]string{
		serversPath:                                         {"hosted-bridge", "alpha"},
		serversPath + "?limit=1":                            {"hosted-bridge"},
		serversPath + "?limit=2":                            {"hosted-bridge", "alpha"},
		serversPath + "?search=hosted-br":                   {"hosted-bridge"},
		serversPath + "?search=alp":                         {"alpha"},
		serversPath + "?version=latest":                     {"hosted-bridge", "alpha"},
		serversPath + "?version=1.0.0":                      {"alpha"},
		serversPath + "?updated_since=2126-03-02T12:00:00Z": {},
		own: {"hosted-bridge"},
	} {
		got := w.get(target)
		var raw any
		got.into(t, &raw)
		if err := schemaOf(t, "ServerList").Validate(raw); err != nil || got.status != http.StatusOK {
			t.Errorf("%s: %d %v", target, got.status, err)
		}
		var list official.List
		got.into(t, &list)
		names := []string{}
		for _, s := range list.Servers {
			names = append(names, strings.TrimPrefix(s.Server.Name, DefaultNamespace+"/"))
		}
		if diff := cmp.Diff(want, names); diff != "" || list.Metadata.Count != len(want) {
			t.Errorf("%s: %s", target, diff)
		}
	}
	var first, second official.List
	w.get(serversPath+"?limit=1").into(t, &first)
	w.get(serversPath+"?limit=1&cursor="+first.Metadata.NextCursor).into(t, &second)
	if len(second.Servers) != 1 || !strings.HasSuffix(second.Servers[0].Server.Name, "/alpha") {
		t.Errorf("the second page is %+v", second)
	}
	got := w.get(own + "/latest")
	var server official.Response
	got.into(t, &server)
	if want := []official.Remote{{Type: "streamable-http", URL: "https://bridge.example.com/mcp"}}; !cmp.Equal(want, server.Server.Remotes) {
		t.Errorf("the remotes are %+v", server.Server.Remotes)
	}
	if again := w.get(own+"/latest", "If-None-Match", got.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("it is sent again: %d", again.status)
	}
	if got := w.get(own + "/9.9.9"); got.status != http.StatusNotFound {
		t.Errorf("a version that is none: %d", got.status)
	}
	without := newWorld(t)
	if got := without.get(own); got.status != http.StatusNotFound {
		t.Errorf("without a URL: %d", got.status)
	}
}
