// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
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
		o.Spec.Recipe, o.Generation = &v1alpha1.Recipe{Recipe: catalogtest.Stored(t, r)}, int64(i)+1
		v := validate.Accept(o, nil, start)
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
	inService := map[string]bool{v1alpha1.ReasonRecipeInUse: true, v1alpha1.ReasonRecipeDeprecated: true, v1alpha1.ReasonRecipeKept: true}[reason]
	if stays := reason == v1alpha1.ReasonRecipeMoved || reason == v1alpha1.ReasonRecipeSecretsAdded; stays {
		inService = got.Source != ""
	}
	if runs := got.Source != ""; runs != inService || (got.Version != "") != runs || (got.Last != nil) && runs || !runs && len(got.Secrets) > 0 {
		t.Errorf("%s with version %q, secrets %v, last %+v and %d bytes of source", reason, got.Version, got.Secrets, got.Last, len(got.Source))
	}
}

// after returns what the servers come to by each of the catalogs in turn.
func after(server v1alpha1.Server, catalogs ...Catalog) *v1alpha1.HostedBridge {
	b := bridge(server)
	for _, c := range catalogs {
		b = onward(b, server, c)
	}
	return b
}

// onward returns what the bridge comes to when its server is that one.
func onward(b *v1alpha1.HostedBridge, server v1alpha1.Server, c Catalog) *v1alpha1.HostedBridge {
	next := bridge(server)
	next.Status = b.Status
	return Bridge(effective.Of(next), c).HostedBridge
}

func secrets(names ...v1alpha1.SecretName) func(*v1alpha1.Server) {
	return func(s *v1alpha1.Server) { s.Secrets = names }
}

// by makes the object one of that UID and owner.
func by(o *v1alpha1.CatalogRecipe, uid apitypes.UID, owner string) *v1alpha1.CatalogRecipe {
	o.UID, o.Spec.Owner = uid, owner
	return o
}

// at returns a version of the remote recipe that is at a URL.
func at(version, url string) recipe.Recipe {
	return remote(func(r *recipe.Recipe) { r.RecipeVersion, r.Transports[0].URL = version, url })
}
