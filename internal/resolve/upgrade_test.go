// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// published are recipes of every kind that can be hosted.
func published(t *testing.T) Catalog {
	t.Helper()
	hash := "sha256-" + strings.Repeat("0a", 32)
	c := Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{}}
	for _, r := range []recipe.Recipe{
		remote(func(r *recipe.Recipe) {
			r.ID, r.Auth.EnvVars = "login", []string{"NOTES_CLIENT_SECRET"}
			r.Transports[0].Auth = &recipe.TransportAuth{
				Type: "oauth2", GrantType: "authorization_code", ClientID: "bridges", ClientSecret: "${NOTES_CLIENT_SECRET}",
				AuthorizationURL: "https://accounts.example.com/login", TokenURL: "https://notes.example.com/token", Scopes: []string{"read"},
			}
		}),
		remote(func(r *recipe.Recipe) {
			r.ID, r.Transports[0].Type, r.LocalOnly.Tools = "events", recipe.SSE, []string{"open_editor", "delete"}
			r.Install = &recipe.Install{Method: "npx", Package: "@example/notes", Version: "1.2.3", ToolsHash: hash}
		}),
		notes(func(r *recipe.Recipe) {
			r.ID, r.Install.ToolsHash = "program", hash
			r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "notes.json", Content: `{"url":"https://notes.example.com","token":"${TOKEN}"}`}}
			r.Transports[0].Env = append(r.Transports[0].Env, jsondoc.Entry[string]{Name: "QUIET"})
			r.Transports[0].Args = append(r.Transports[0].Args, "${CONFIG_DIR}/notes.json")
		}),
		notes(func(r *recipe.Recipe) {
			r.ID, r.Auth, r.Install = "python", nil, &recipe.Install{Method: "uvx", Package: "notes", Version: "1.2.3"}
			r.Transports[0] = recipe.Transport{Type: recipe.Stdio, Command: "uvx", Args: []string{"notes@1.2.3"}}
		}),
	} {
		c.Recipes[r.ID] = by(accepted(t, r), "uid-1", "acme")
	}
	return c
}

// before returns a bridge whose status an operator has
// written. The objects that it made are in testdata/before.out.yaml.
func before(t *testing.T) *v1alpha1.HostedBridge {
	t.Helper()
	b := &v1alpha1.HostedBridge{}
	must.Succeed(t, json.Unmarshal(file(t, "testdata/before.json"), b))
	return b
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	return must.Value(os.ReadFile(name))(t)
}

// TestAnUpgradeChangesNothingOfWhatRuns holds the objects, and so each pod, byte
// by byte against those of the version before.
func TestAnUpgradeChangesNothingOfWhatRuns(t *testing.T) {
	want := string(file(t, "testdata/before.out.yaml"))
	paused := before(t)
	for i, s := range paused.Status.Recipes {
		last := lastOf(s, s.Recipe)
		last.Source = s.Source
		paused.Status.Recipes[i] = v1alpha1.RecipeStatus{Server: s.Server, Recipe: s.Recipe, Reason: v1alpha1.ReasonRecipeNotHostable, Last: &last}
	}
	for name, tt := range map[string]struct {
		bridge  *v1alpha1.HostedBridge
		catalog Catalog
		reason  string
	}{
		"the catalog has the recipes":                   {before(t), published(t), v1alpha1.ReasonRecipeInUse},
		"the catalog lost the recipes":                  {before(t), Catalog{}, v1alpha1.ReasonRecipeKept},
		"servers come back that were not hosted before": {paused, Catalog{}, v1alpha1.ReasonRecipeKept},
	} {
		t.Run(name, func(t *testing.T) {
			got := Bridge(effective.Of(tt.bridge), tt.catalog)
			if diff := cmp.Diff(want, string(objectsOf(t, got.HostedBridge))); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
			for _, s := range got.Status.Recipes {
				expect(t, s, tt.reason, "")
			}
			if diff := cmp.Diff(got, Bridge(got, tt.catalog)); diff != "" {
				t.Errorf("decided again (-first +second):\n%s", diff)
			}
		})
	}
	// The others read the status before the operator has written it.
	if diff := cmp.Diff(want, string(objectsOf(t, before(t)))); diff != "" {
		t.Errorf("objects by the status of before (-want +got):\n%s", diff)
	}
}

// TestASourceIsWhatARecipeSays has the form that other processes read.
func TestASourceIsWhatARecipeSays(t *testing.T) {
	for _, s := range Bridge(effective.Of(before(t)), published(t)).Status.Recipes {
		want := string(file(t, "testdata/source."+s.Recipe+".json"))
		if diff := cmp.Diff(strings.TrimSpace(want), s.Source); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Server, diff)
		}
	}
}

// objectsOf returns the objects of a bridge that runs.
func objectsOf(t *testing.T, b *v1alpha1.HostedBridge) []byte {
	t.Helper()
	objects, err := bridgeobjects.Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run, Trust: "trust"}, bridgeobjects.Settings{
		BridgeImage: "bridge:test", RuntimeImageNode: "node:test", RuntimeImagePython: "python:test",
		KeybrokerURL: "https://keybroker:8443", LoginURL: "https://bridges.example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	return must.Value(yaml.Marshal(objects))(t)
}
