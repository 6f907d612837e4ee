// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestARemoteServerIsBetterThanAProgram(t *testing.T) {
	r := notes(func(r *recipe.Recipe) { r.Transports = append(r.Transports, remote().Transports...) })
	got := bridgestate.Servers(Bridge(effective.Of(bridge(named("mine"))), catalogOf(accepted(t, r))))
	want := []bridgestate.Server{{Server: bridgeconfig.Server{
		Name: "mine", Description: "Keeps notes.", Transport: bridgeconfig.StreamableHTTP, URL: "https://notes.example.com/mcp",
		Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${NOTES_TOKEN}"}}, Secrets: []string{"NOTES_TOKEN"},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	r.Transports[1].URL = "https://${NOTES_LANG}.example.com/mcp"
	if got := bridgestate.Servers(Bridge(effective.Of(bridge(named("mine"))), catalogOf(accepted(t, r)))); got[0].Program == nil {
		t.Errorf("where that cannot be hosted: %+v", got)
	}
}

func TestALoginIsThatOfTheServer(t *testing.T) {
	r := remote(func(r *recipe.Recipe) {
		r.Auth.EnvVars = []string{"NOTES_CLIENT_SECRET"}
		r.Transports[0].Auth = &recipe.TransportAuth{
			Type: "oauth2", GrantType: "authorization_code", ClientID: "bridges", ClientSecret: "${NOTES_CLIENT_SECRET}",
			AuthorizationURL: "https://notes.example.com/login", TokenURL: "https://notes.example.com/token", Scopes: []string{"read"},
		}
	})
	got := Bridge(effective.Of(bridge(named("my-notes"))), catalogOf(accepted(t, r)))
	want := &bridgeconfig.OAuth{
		Grant: bridgeconfig.AuthorizationCode, TokenURL: "https://notes.example.com/token", AuthorizationURL: "https://notes.example.com/login", ClientID: "bridges",
		ClientSecret: "NOTES_CLIENT_SECRET", Token: "OAUTH_MY_NOTES", Scopes: []string{"read"},
	}
	if diff := cmp.Diff(want, bridgestate.Servers(got)[0].OAuth); diff != "" {
		t.Errorf("auth (-want +got):\n%s", diff)
	}
	if s := got.Status.Recipes[0]; s.TokenSecret != "OAUTH_MY_NOTES" || !cmp.Equal(s.Secrets, []string{"NOTES_CLIENT_SECRET", "OAUTH_MY_NOTES"}) {
		t.Errorf("status: %+v", s)
	}
	if err := bridgestate.Configuration(got, bridgeconfig.Egress{}, "").Validate(); err != nil {
		t.Error(err)
	}
}

// TestTheFingerprintOfTheToolsReachesTheBridge has a program and a server at a
// URL, and one that goes on as it was when its recipe is gone.
func TestTheFingerprintOfTheToolsReachesTheBridge(t *testing.T) {
	hash := "sha256-" + strings.Repeat("0a", 32)
	audited := func(r *recipe.Recipe) {
		if r.Install == nil {
			r.Install = &recipe.Install{Method: "npx", Package: "@example/notes", Version: "1.2.3"}
		}
		r.Install.ToolsHash = hash
	}
	told := func(b *v1alpha1.HostedBridge) string {
		return bridgestate.Configuration(effective.Of(b), bridgeconfig.Egress{}, "").Servers[0].ToolsHash
	}
	for name, r := range map[string]recipe.Recipe{"a program": notes(audited), "a server at a URL": remote(audited)} {
		got := Bridge(effective.Of(bridge(named("mine"))), catalogOf(accepted(t, r)))
		if told(got.HostedBridge) != hash {
			t.Errorf("%s: the bridge is told %q", name, told(got.HostedBridge))
		}
		b := bridge(named("mine"))
		b.Status = got.Status
		if kept := Bridge(effective.Of(b), catalogOf(nil)); told(kept.HostedBridge) != hash {
			t.Errorf("%s that is kept: the bridge is told %q", name, told(kept.HostedBridge))
		}
	}
	if got := Bridge(effective.Of(bridge(named("mine"))), catalogOf(accepted(t, notes()))); told(got.HostedBridge) != "" {
		t.Errorf("without one the bridge is told %q", told(got.HostedBridge))
	}
	o := &v1alpha1.CatalogRecipe{}
	o.Name, o.Spec.Recipe = "notes", &v1alpha1.Recipe{Recipe: notes(func(r *recipe.Recipe) { r.Install.ToolsHash = "md5" })}
	if v := validate.Accept(o, nil, start); v.Accepted {
		t.Error("a recipe is accepted whose fingerprint no bridge takes")
	}
}

// TestTheSeedCanBeHosted resolves every recipe of the installation, which are
// real: what says that it is safe to host is something that a bridge takes.
func TestTheSeedCanBeHosted(t *testing.T) {
	files, err := filepath.Glob("../../config/recipes/*/recipe.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recipes: %v", len(files), err)
	}
	for _, file := range files {
		b := must.Value(os.ReadFile(file))(t)
		d, problems := validate.Parse(b, validate.Checks{})
		if len(problems) > 0 {
			t.Fatalf("%s: %v", file, problems)
		}
		o := accepted(t, d.Recipe)
		server := v1alpha1.Server{Name: "server", Recipe: &v1alpha1.RecipeReference{Name: o.Name}}
		got := Bridge(effective.Of(bridge(server)), tiered(o))
		want := v1alpha1.ReasonRecipeInUse
		switch {
		case d.Recipe.LocalOnly.All:
			want = v1alpha1.ReasonRecipeLocalOnly
		case !catalog.HostedSafe(d.Recipe):
			want = v1alpha1.ReasonRecipeNotHostable // It needs a login of the user's own machine.
		}
		expect(t, got.Status.Recipes[0], want, "")
		if _, err := bridgestate.Configuration(got, bridgeconfig.Egress{}, "").Encode(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzBridge(f *testing.F) {
	f.Add("npx", "-y", "@example/notes@1.2.3", "https://notes.example.com/mcp", "${NOTES_TOKEN}", "open", true)
	f.Add("npx", "--package", "a", "http://x/${A}", "$${A:-${B}}", "", false)
	f.Fuzz(func(t *testing.T, command, arg, pkg, url, value, tool string, program bool) {
		r := notes(func(r *recipe.Recipe) {
			r.LocalOnly.Tools = []string{tool}
			r.Transports = []recipe.Transport{{Type: recipe.StreamableHTTP, URL: url, Headers: jsondoc.Ordered[string]{{Name: "X-Key", Value: value}}}}
			if program {
				r.Transports = []recipe.Transport{{Type: recipe.Stdio, Command: command, Args: []string{arg, pkg}, Env: jsondoc.Ordered[string]{{Name: "KEY", Value: value}}}}
			}
		})
		o := &v1alpha1.CatalogRecipe{}
		o.Name, o.Spec.Recipe = r.ID, &v1alpha1.Recipe{Recipe: catalogtest.Stored(t, r)}
		o.Status.Versions = []v1alpha1.RecipeVersion{{Version: "1.0.0", Digest: "d", Recipe: catalog.SourceOf(r)}}
		got := Bridge(effective.Of(bridge(named("mine"))), catalogOf(o))
		// Whatever a recipe says, the bridge's configuration stays one.
		if _, err := bridgestate.Configuration(got, bridgeconfig.Egress{}, "").Encode(); err != nil {
			t.Errorf("%v: %+v", err, got.Status.Recipes)
		}
		if s := got.Status.Recipes[0]; (s.Source == "") != (len(bridgestate.Servers(got)) == 0) {
			t.Errorf("%+v", s)
		}
	})
}
