// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestABundleThatTheStoreLostIsToldFromAStoreThatIsAway matters to the page of a program: the first
// is made again by itself.
func TestABundleThatTheStoreLostIsToldFromAStoreThatIsAway(t *testing.T) {
	for status, lost := range map[int]bool{http.StatusNotFound: true, http.StatusForbidden: false, http.StatusInternalServerError: false} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		trusts := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trusts.ServerName = "example.com" // One of the names in the server's certificate.
		store := must.Value(bundle.NewClient(server.URL, func() *tls.Config { return trusts }))(t)
		defer store.Close()
		_, err := recordsOf(store)(t.Context(), bundle.Digest("sha256:"+strings.Repeat("ab", 32)))
		if err == nil || errors.Is(err, programs.ErrGone) != lost {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestARecipesPackageIsTheOneThatBridgesStart joins what the catalog, bridges and the API server say.
func TestARecipesPackageIsTheOneThatBridgesStart(t *testing.T) {
	made := v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@acme/notes", Version: "1.2.3"}}}
	made.Status.Digest = "sha256:" + strings.Repeat("ab", 32)
	made.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, LastTransitionTime: metav1.Now()}}
	c := core{programs: management.NewPrograms(management.ProgramOptions{List: func(context.Context) ([]v1alpha1.ProgramBundle, error) { return []v1alpha1.ProgramBundle{made}, nil }})}
	program := func(args ...string) recipe.Recipe {
		return recipe.Recipe{
			SchemaVersion: 2, ID: "notes", Name: "Notes", Description: "Keeps notes.", Repository: "https://example.com/notes",
			Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: args}},
			Install:    &recipe.Install{Method: "npx", Package: "@acme/notes", Version: "1.2.3"},
		}
	}
	remote := program()
	remote.Install, remote.Transports = nil, []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://notes.example.com/mcp"}}
	if p := c.programOfRecipe(program("-y", "@acme/notes")); p != nil {
		t.Errorf("before it is known: %+v", p)
	}
	c.programs.Refresh(t.Context())
	if p := c.programOfRecipe(program("-y", "@acme/notes")); p == nil || p.Digest != made.Status.Digest {
		t.Errorf("a package: %+v", p)
	}
	if p := c.programOfRecipe(program("-y", "@acme/notes@2.0.0")); p == nil || p.Version != "2.0.0" || p.State != "" {
		t.Errorf("another version: %+v", p)
	}
	if p := c.programOfRecipe(remote); p != nil {
		t.Errorf("a remote server: %+v", p)
	}
}
