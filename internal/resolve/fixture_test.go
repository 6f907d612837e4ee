// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// notes returns a recipe of a program that needs a secret.
func notes(change ...func(*recipe.Recipe)) recipe.Recipe {
	r := recipe.Recipe{
		SchemaVersion: 2, ID: "notes", Name: "Notes", Description: "Keeps notes.", Repository: "https://example.com/notes", RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{
			Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/notes@1.2.3", "--lang", "${NOTES_LANG:-en}"},
			Env: jsondoc.Ordered[string]{{Name: "TOKEN", Value: "${NOTES_TOKEN}"}},
		}},
		Auth:    &recipe.Auth{Required: true, Type: "api-key", EnvVars: []string{"NOTES_TOKEN", "NOTES_LANG"}, CredentialsURL: "https://notes.example.com/keys"},
		Install: &recipe.Install{Method: "npx", Package: "@example/notes", Version: "1.2.3"},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// remote returns a recipe of a server at a URL that needs a secret.
func remote(change ...func(*recipe.Recipe)) recipe.Recipe {
	return notes(func(r *recipe.Recipe) {
		r.Install = nil
		r.Transports = []recipe.Transport{{
			Type: recipe.StreamableHTTP, URL: "https://notes.example.com/mcp",
			Auth: &recipe.TransportAuth{Type: "bearer", Token: "${NOTES_TOKEN}"},
		}}
		r.Auth.EnvVars = []string{"NOTES_TOKEN"}
		for _, c := range change {
			c(r)
		}
	})
}

// accepted returns the object of a recipe after the operator's verdict on each
// of the versions, the last of which it has now.
func accepted(t *testing.T, versions ...recipe.Recipe) *v1alpha1.CatalogRecipe {
	t.Helper()
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Name: versions[0].ID}}
	for i, r := range versions {
		o.Spec.Recipe, o.Generation = catalog.ToObject(r), int64(i)+1
		v := catalog.Accept(o, nil, start)
		if !v.Accepted {
			t.Fatalf("version %d is not accepted: %s", i, v.Message)
		}
		o.Status.Versions = v.Versions
		verdictOn(o, metav1.ConditionTrue, "the recipe is served")
	}
	return o
}

// verdictOn writes what the operator says of the object as it is.
func verdictOn(o *v1alpha1.CatalogRecipe, status metav1.ConditionStatus, message string) {
	o.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionRecipeAccepted, Status: status, Message: message, ObservedGeneration: o.Generation,
	}}
}

// bridge returns a HostedBridge whose servers name the recipe notes.
func bridge(servers ...v1alpha1.Server) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid"}}
	b.Spec.Servers = servers
	return b
}

func named(name string, change ...func(*v1alpha1.Server)) v1alpha1.Server {
	s := v1alpha1.Server{Name: name, Recipe: &v1alpha1.RecipeReference{Name: "notes"}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func version(v string) func(*v1alpha1.Server) {
	return func(s *v1alpha1.Server) { s.Recipe.Version = v }
}

func catalogOf(o *v1alpha1.CatalogRecipe, lacking ...v1alpha1.InstallMethod) Catalog {
	if o == nil {
		return Catalog{Lacking: lacking}
	}
	return Catalog{Recipes: map[string]*v1alpha1.CatalogRecipe{o.Name: o}, Lacking: lacking}
}

// expect compares a server's recipe with a reason and a part of the message.
func expect(t *testing.T, got v1alpha1.RecipeStatus, reason, message string) {
	t.Helper()
	if got.Reason != reason || !strings.Contains(got.Message, message) {
		t.Errorf("%s (%s), want %s with %q", got.Reason, got.Message, reason, message)
	}
	inService := map[string]bool{v1alpha1.ReasonRecipeInUse: true, v1alpha1.ReasonRecipeDeprecated: true, v1alpha1.ReasonRecipeKept: true}
	if (got.Source != "") != inService[reason] || (got.Version != "") != inService[reason] {
		t.Errorf("%s with version %q and %d bytes of source", reason, got.Version, len(got.Source))
	}
}
