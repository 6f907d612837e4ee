// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestAServerIsWhatItsRecipeSays(t *testing.T) {
	b := bridge(v1alpha1.Server{Name: "first", Transport: v1alpha1.Transport{URL: "https://a"}}, named("mine"))
	before := b.DeepCopy()
	o := by(accepted(t, notes()), "uid-1", "acme")
	got := Bridge(effective.Of(b), catalogOf(o))
	if diff := cmp.Diff(before, b); diff != "" {
		t.Errorf("the bridge itself was changed (-before +after):\n%s", diff)
	}
	want := []bridgestate.Server{{Server: bridgeconfig.Server{Name: "first", URL: "https://a"}}, {
		Server: bridgeconfig.Server{
			Name: "mine", Description: "Keeps notes.", Transport: bridgeconfig.Stdio,
			Program: &bridgeconfig.Program{
				Socket:  "/var/run/hosted-bridge/stdio/mine/shim.sock",
				Command: []string{"npx", "-y", "@example/notes@1.2.3", "--lang", "${NOTES_LANG:-en}"},
				Env:     []bridgeconfig.Variable{{Name: "TOKEN", Value: "${NOTES_TOKEN}"}},
			},
			Secrets: []string{"NOTES_LANG", "NOTES_TOKEN"},
		},
		Index: 1, Method: "npx",
	}}
	if diff := cmp.Diff(want, bridgestate.Servers(got)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	status := got.Status.Recipes[0]
	expect(t, status, v1alpha1.ReasonRecipeInUse, "version 1.0.0 of recipe notes")
	status.Source, status.Message = "", ""
	if diff := cmp.Diff(v1alpha1.RecipeStatus{
		Server: "mine", Recipe: "notes", Version: "1.0.0", Digest: o.Status.Versions[0].Digest, Reason: v1alpha1.ReasonRecipeInUse,
		Secrets: []string{"NOTES_LANG", "NOTES_TOKEN"}, CredentialsURL: "https://notes.example.com/keys",
		UID: "uid-1", Owner: "acme", Place: "npx @example/notes",
	}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestWhatTheSpecSaysOfAServerStays(t *testing.T) {
	r := notes(func(r *recipe.Recipe) { r.LocalOnly.Tools = []string{"open_editor", "delete"} })
	b := bridge(named("mine", func(s *v1alpha1.Server) {
		s.Description = "Notes of the team"
		s.Trust = v1alpha1.TrustUntrusted
		s.Tools = &v1alpha1.ToolFilter{Allow: []string{"search", "open_editor"}, Deny: []string{"delete"}}
		s.MaxResultBytes = new(int32(4096))
	}))
	got := Bridge(effective.Of(b), catalogOf(accepted(t, r)))
	server := bridgestate.Servers(got)[0]
	if server.Description != "Notes of the team" || server.Trust != bridgeconfig.Untrusted || server.MaxResultBytes != 4096 {
		t.Errorf("%+v", server)
	}
	want := bridgeconfig.Tools{Allow: []string{"search", "open_editor"}, Deny: []string{"delete", "open_editor"}}
	if diff := cmp.Diff(want, server.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if len(b.Spec.Servers[0].Tools.Deny) != 1 {
		t.Errorf("the spec's own filter was changed: %v", b.Spec.Servers[0].Tools)
	}
}

func TestWhichVersionAServerGets(t *testing.T) {
	older := notes()
	newer := notes(func(r *recipe.Recipe) {
		r.RecipeVersion, r.Install.Version, r.Transports[0].Args[1] = "1.1.0", "1.3.0", "@example/notes@1.3.0"
	})
	o := accepted(t, older, newer)
	got := Bridge(effective.Of(bridge(named("latest"), named("pinned", version("1.0.0")), named("newest", version("1.1.0")))), catalogOf(o))
	for i, want := range []string{"1.1.0", "1.0.0", "1.1.0"} {
		if s := got.Status.Recipes[i]; s.Version != want || s.Reason != v1alpha1.ReasonRecipeInUse {
			t.Errorf("server %s: version %s, %s; want %s", s.Server, s.Version, s.Message, want)
		}
	}
	if c := bridgestate.Servers(got)[1].Program.Command; !slices.Contains(c, "@example/notes@1.2.3") {
		t.Errorf("the pinned one runs %q", c)
	}
}

func TestWhyAServerIsOutOfService(t *testing.T) {
	local := notes(func(r *recipe.Recipe) { r.LocalOnly.All = true })
	docker := notes(func(r *recipe.Recipe) {
		r.Install = &recipe.Install{Method: "docker", Image: "example/notes:1.2.3"}
		r.Transports = []recipe.Transport{{Type: recipe.Stdio, Command: "docker", Args: []string{"run", "-i", "--rm", "example/notes:1.2.3"}}}
		r.Auth = nil
	})
	never := accepted(t, notes())
	never.Status = v1alpha1.CatalogRecipeStatus{}
	verdictOn(never, metav1.ConditionFalse, "name: is required")
	back := accepted(t, notes())
	back.Spec.Recipe = nil
	refused := accepted(t, notes())
	refused.Status.Versions[0].Withdrawn = true
	verdictOn(refused, metav1.ConditionFalse, "signature: the publisher has no public key")
	broken := accepted(t, notes())
	broken.Status.Versions[0].Recipe = "{"
	// What the rules of today would not accept may have been accepted once.
	once := func(change func(*recipe.Recipe)) *v1alpha1.CatalogRecipe {
		o := accepted(t, notes())
		r := notes()
		change(&r)
		o.Status.Versions[0].Recipe = catalog.SourceOf(r)
		return o
	}
	large := remote(func(r *recipe.Recipe) { r.Description = strings.Repeat("a", 500) })
	for name, tt := range map[string]struct {
		o       *v1alpha1.CatalogRecipe
		server  v1alpha1.Server
		lacking []v1alpha1.InstallMethod
		reason  string
		message string
	}{
		"no such recipe":                              {nil, named("mine"), nil, "NotFound", "the catalog has no recipe notes"},
		"never accepted":                              {never, named("mine"), nil, "NotAccepted", "was not accepted yet: name: is required"},
		"taken back by its author":                    {back, named("mine"), nil, "NotAccepted", "was taken back"},
		"refused as it is":                            {refused, named("mine"), nil, "NotAccepted", "is not served any more: it was withdrawn: signature: the publisher has no public key"},
		"refused, and it is pinned":                   {refused, named("mine", version("1.0.0")), nil, "NotAccepted", "is not served any more"},
		"refused, and one that is not kept is pinned": {refused, named("mine", version("0.9.0")), nil, "NotAccepted", "is not served any more"},
		"not to be read":                              {broken, named("mine"), nil, "NotAccepted", "cannot be read"},
		"a version that it has not":                   {accepted(t, notes()), named("mine", version("2.0.0")), nil, "VersionUnknown", "version 2.0.0 of recipe notes; it must be one of: 1.0.0"},
		"for people's own machines":                   {accepted(t, local), named("mine"), nil, "LocalOnly", "bridge add notes"},
		"a container of its own":                      {accepted(t, docker), named("mine"), nil, "NotHostable", "transports[0]: only programs that npx or uvx run"},
		"no image for it":                             {accepted(t, notes()), named("mine"), []v1alpha1.InstallMethod{"npx"}, "NotHostable", "the installation has no image in which npx runs programs; an administrator can set bridge.runtimes.node in the values of the chart"},
		"another program":                             {once(func(r *recipe.Recipe) { r.Transports[0].Command = "bash" }), named("mine"), nil, "NotHostable", "is started by \"bash\" and not by npx"},
		"a header that is the bridge's": {once(func(r *recipe.Recipe) {
			r.Transports = []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://a", Headers: jsondoc.Ordered[string]{{Name: "Mcp-Session-Id", Value: "x"}}}}
		}), named("mine"), nil, "NotHostable", "Mcp-Session-Id belongs to HTTP, MCP or the bridge itself"},
		"a NUL that no program takes": {once(func(r *recipe.Recipe) {
			r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "a.json", Content: "x\x00y"}}
		}), named("mine"), nil, "NotHostable", "it holds the character NUL"},
		"more secrets than a server may have": {once(func(r *recipe.Recipe) {
			for i := range 33 {
				r.Transports[0].Env = append(r.Transports[0].Env, jsondoc.Entry[string]{Name: fmt.Sprintf("V%d", i), Value: fmt.Sprintf("${S%d:-}", i)})
			}
		}), named("mine"), nil, "NotHostable", "and a server may use 32"},
		"a host that no status has room for": {once(func(r *recipe.Recipe) {
			r.Install = nil
			r.Transports = []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://a", Auth: &recipe.TransportAuth{
				Type: "oauth2", GrantType: "client_credentials", ClientID: "c", ClientSecret: "${NOTES_TOKEN}", TokenURL: "https://" + strings.Repeat("a", 5000),
			}}}
		}), named("mine"), nil, "NotHostable", "have hosts of more than 2048 bytes"},
		"more than a server's worth": {once(func(r *recipe.Recipe) {
			r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "a", Content: strings.Repeat("a", 100<<10)}, {Name: "b", Content: strings.Repeat("b", 100<<10)}}
		}), named("mine"), nil, "NotHostable", "and may say 8192"},
		"a secret that the spec does not grant": {accepted(t, notes()), named("mine", func(s *v1alpha1.Server) { s.Secrets = []v1alpha1.SecretName{"NOTES_LANG"} }), nil,
			"SecretNotGranted", "does not have: NOTES_TOKEN"},
		"a login with a client of one's own": {accepted(t, remote(func(r *recipe.Recipe) {
			r.Transports[0].Auth = &recipe.TransportAuth{Type: "oauth2", GrantType: "authorization_code", AuthorizationURL: "https://notes.example.com/login", TokenURL: "https://notes.example.com/token"}
		})), named("mine"), nil, "NotHostable", "names a variable"},
	} {
		t.Run(name, func(t *testing.T) {
			other := v1alpha1.Server{Name: "other", Transport: v1alpha1.Transport{URL: "https://a"}}
			got := Bridge(effective.Of(bridge(tt.server, other)), catalogOf(tt.o, tt.lacking...))
			expect(t, got.Status.Recipes[0], tt.reason, tt.message)
			want := []bridgestate.Server{{Server: bridgeconfig.Server{Name: "other", URL: "https://a"}, Index: 1}}
			if diff := cmp.Diff(want, bridgestate.Servers(got)); diff != "" {
				t.Errorf("the servers in service (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("more than a bridge holds", func(t *testing.T) {
		var servers []v1alpha1.Server
		for i := range 64 {
			servers = append(servers, named(fmt.Sprintf("s%d", i)))
		}
		o := accepted(t, large)
		r, _, _ := catalog.ReadSource(o.Status.Versions[0].Recipe)
		r.Transports[0].URL += "?" + strings.Repeat("a", 1800)
		o.Status.Versions[0].Recipe = catalog.SourceOf(r)
		got := Bridge(effective.Of(bridge(servers...)), catalogOf(o))
		size, out := 0, 0
		for _, s := range got.Status.Recipes {
			if size += len(s.Source); s.Source == "" {
				out++
				expect(t, s, v1alpha1.ReasonRecipeNotHostable, "which is as much as a bridge holds")
			}
		}
		if size > bridgeLimit || out == 0 || out > 40 {
			t.Errorf("%d bytes, and %d servers are out of service", size, out)
		}
	})
}
