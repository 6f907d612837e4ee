// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func rules(t *testing.T, allow, deny []string) netguard.Rules {
	t.Helper()
	return must.Value(netguard.New(allow, deny, false))(t)
}

func TestWhatAnInstallationCanRun(t *testing.T) {
	everything := []string{"0.0.0.0/0", "::/0"}
	login := func(edit func(*recipe.TransportAuth)) recipe.Recipe {
		return remote(func(r *recipe.Recipe) {
			r.Transports[0].Auth = &recipe.TransportAuth{Type: "oauth2", GrantType: "authorization_code", ClientID: "bridges",
				TokenURL: "https://notes.example.com/token", AuthorizationURL: "https://notes.example.com/authorize"}
			edit(r.Transports[0].Auth)
		})
	}
	for name, tt := range map[string]struct {
		recipe  recipe.Recipe
		lacking []v1alpha1.InstallMethod
		rules   netguard.Rules
		reason  string
		says    string
	}{
		"a program whose image is there":   {notes(), []v1alpha1.InstallMethod{v1alpha1.InstallUVX}, netguard.Rules{}, "", ""},
		"a program whose image is missing": {notes(), []v1alpha1.InstallMethod{v1alpha1.InstallNPX}, netguard.Rules{}, v1alpha1.ReasonRecipeNotHostable, "no image in which npx runs"},
		"a program for personal machines":  {notes(func(r *recipe.Recipe) { r.LocalOnly.All = true }), nil, netguard.Rules{}, v1alpha1.ReasonRecipeLocalOnly, "localOnly"},
		"a program that nothing fetches":   {notes(), nil, rules(t, nil, everything), v1alpha1.ReasonRecipeUnreachable, "is a package that npx fetches"},
		"a program of a private registry":  {notes(), nil, rules(t, []string{"10.0.0.0/8"}, nil), "", ""},
		"a server at a public name":        {remote(), nil, netguard.Rules{}, "", ""},
		"a server where nothing public is reached": {remote(), nil, rules(t, nil, everything), v1alpha1.ReasonRecipeUnreachable,
			"notes.example.com, to which the installation's rules let no bridge connect"},
		"a private server that is not allowed": {at("1.0.0", "https://10.1.2.3/mcp"), nil, netguard.Rules{}, v1alpha1.ReasonRecipeUnreachable, "10.1.2.3"},
		"a private server that is allowed":     {at("1.0.0", "https://10.1.2.3/mcp"), nil, rules(t, []string{"10.0.0.0/8"}, nil), "", ""},
		"a login with a client of the recipe":  {login(func(*recipe.TransportAuth) {}), nil, netguard.Rules{}, "", ""},
		"a login with a client of the user":    {login(func(a *recipe.TransportAuth) { a.ClientID = "" }), nil, netguard.Rules{}, v1alpha1.ReasonRecipeNotHostable, "only a bridge on the user's own machine fills in"},
		"a login at a server to be found": {login(func(a *recipe.TransportAuth) { a.TokenURL, a.AuthorizationURL, a.ClientID = "", "", "" }), nil, netguard.Rules{},
			v1alpha1.ReasonRecipeNotHostable, "is found by a login"},
	} {
		t.Run(name, func(t *testing.T) {
			v := v1alpha1.RecipeVersion{Version: "1.0.0", Recipe: catalog.SourceOf(tt.recipe)}
			found := Hosting{Lacking: tt.lacking, Egress: tt.rules}.Judge("notes", v)
			if found.Reason != tt.reason || !strings.Contains(found.Message, tt.says) {
				t.Errorf("found %+v", found)
			}
		})
	}
}
