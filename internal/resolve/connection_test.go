// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestHowAnAccountIsConnected(t *testing.T) {
	inline := func(change func(*v1alpha1.Server)) *v1alpha1.HostedBridge {
		s := v1alpha1.Server{
			Name: "drive", Secrets: []v1alpha1.SecretName{"drive.json"}, Transport: v1alpha1.Transport{URL: "https://drive.example.com/mcp"},
			Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
				Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://login.example.com/authorize?tenant=a", TokenURL: "https://login.example.com/token",
				ClientID: "me", TokenSecret: "drive.json", Scopes: []string{"read"}, Resource: "https://drive.example.com",
			}},
		}
		change(&s)
		return bridge(v1alpha1.Server{Name: "other", Transport: v1alpha1.Transport{URL: "https://h"}}, s)
	}
	ofRecipe := Bridge(effective.Of(bridge(named("drive"))), catalogOf(accepted(t, remote(func(r *recipe.Recipe) {
		r.Transports[0].Auth = &recipe.TransportAuth{
			Type: "oauth2", GrantType: "authorization_code", ClientID: "bridges", Scopes: []string{"read"},
			AuthorizationURL: "https://notes.example.com/login", TokenURL: "https://notes.example.com/token",
		}
	}))))
	asStored := bridge(named("drive"))
	asStored.Status = ofRecipe.Status
	want := bridgeconfig.OAuth{
		Grant: bridgeconfig.AuthorizationCode, AuthorizationURL: "https://notes.example.com/login", TokenURL: "https://notes.example.com/token",
		ClientID: "bridges", Scopes: []string{"read"}, Token: "OAUTH_DRIVE",
	}
	at := func(page string) func(*v1alpha1.Server) {
		return func(s *v1alpha1.Server) { s.Auth.OAuth.AuthorizationURL = page }
	}
	for name, tt := range map[string]struct {
		bridge *v1alpha1.HostedBridge
		want   bridgeconfig.OAuth
	}{
		"as the spec says it": {inline(func(*v1alpha1.Server) {}), bridgeconfig.OAuth{
			Grant: bridgeconfig.AuthorizationCode, AuthorizationURL: "https://login.example.com/authorize?tenant=a", TokenURL: "https://login.example.com/token",
			ClientID: "me", Scopes: []string{"read"}, Resource: "https://drive.example.com", Token: "drive.json",
		}},
		"as its recipe says it":                          {asStored, want},
		"not of a server that there is not":              {bridge(), bridgeconfig.OAuth{}},
		"not of one whose recipe is not known yet":       {bridge(named("drive")), bridgeconfig.OAuth{}},
		"not of one without auth":                        {inline(func(s *v1alpha1.Server) { s.Auth = nil }), bridgeconfig.OAuth{}},
		"not of one that is a client by itself":          {inline(func(s *v1alpha1.Server) { s.Auth.OAuth.Grant = v1alpha1.OAuthClientCredentials }), bridgeconfig.OAuth{}},
		"not of one that may not use its login":          {inline(func(s *v1alpha1.Server) { s.Secrets = nil }), bridgeconfig.OAuth{}},
		"not where nobody knows where the login is":      {inline(at("")), bridgeconfig.OAuth{}},
		"not at a page that is no address of the web":    {inline(at("javascript:alert(1)//h")), bridgeconfig.OAuth{}},
		"not at a page without a host":                   {inline(at("https:///authorize")), bridgeconfig.OAuth{}},
		"not at a page with credentials":                 {inline(at("https://a:b@login.example.com/")), bridgeconfig.OAuth{}},
		"not at a page with a fragment, as no page does": {inline(at("https://login.example.com/#a")), bridgeconfig.OAuth{}},
	} {
		t.Run(name, func(t *testing.T) {
			server, ok := ConnectionOf(effective.Of(tt.bridge), "drive")
			var got bridgeconfig.OAuth
			if ok {
				got = *server.OAuth
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want.Token != "") {
				t.Errorf("ok = %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}
