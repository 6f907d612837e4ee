// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// order is which transport is better in a pod: a server elsewhere takes no
// container and runs no foreign program beside the user's secrets.
var order = []recipe.TransportType{recipe.StreamableHTTP, recipe.SSE, recipe.Stdio}

// The API's words for those of recipes and of the bridge.
var (
	types  = map[recipe.TransportType]v1alpha1.TransportType{recipe.SSE: v1alpha1.TransportSSE, recipe.StreamableHTTP: v1alpha1.TransportStreamableHTTP}
	grants = map[config.Grant]v1alpha1.OAuthGrant{
		config.ClientCredentials: v1alpha1.OAuthClientCredentials, config.AuthorizationCode: v1alpha1.OAuthAuthorizationCode,
	}
)

// host returns what a version says of the server.
func (c Catalog) host(server v1alpha1.Server, v v1alpha1.RecipeVersion) (v1alpha1.RecipeStatus, plan.Finding) {
	name := server.Recipe.Name
	r, _, err := catalog.ReadSource(v.Recipe)
	if err != nil {
		return v1alpha1.RecipeStatus{}, notAccepted("version %s of recipe %s cannot be read: %v", v.Version, name, err)
	}
	if r.LocalOnly.All {
		return v1alpha1.RecipeStatus{}, plan.Finding{Reason: v1alpha1.ReasonRecipeLocalOnly, Message: fmt.Sprintf(
			"version %s of recipe %s is for people's own machines alone (localOnly): run it there with `bridge add %s`", v.Version, name, name)}
	}
	status, err := c.transport(server, r)
	if err != nil {
		return v1alpha1.RecipeStatus{}, plan.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
			"version %s of recipe %s has no transport that can be hosted here: %v", v.Version, name, err)}
	}
	status.Server, status.Recipe, status.Version, status.Digest = server.Name, name, v.Version, v.Digest
	status.Reason, status.Message = v1alpha1.ReasonRecipeInUse, fmt.Sprintf("the server is what version %s of recipe %s says", v.Version, name)
	return status, plan.Finding{}
}

// transport returns what the recipe's best transport comes to.
func (c Catalog) transport(server v1alpha1.Server, r recipe.Recipe) (v1alpha1.RecipeStatus, error) {
	var refusals []string
	for _, kind := range order {
		for i, t := range r.Transports {
			if t.Type != kind {
				continue
			}
			status, err := c.convert(server, r, t)
			if err == nil {
				return status, nil
			}
			refusals = append(refusals, fmt.Sprintf("transports[%d]: %v", i, err))
		}
	}
	return v1alpha1.RecipeStatus{}, errors.New(strings.Join(refusals, "; "))
}

func (c Catalog) convert(server v1alpha1.Server, r recipe.Recipe, t recipe.Transport) (v1alpha1.RecipeStatus, error) {
	if err := catalog.Hostable(r, t); err != nil {
		return v1alpha1.RecipeStatus{}, err
	}
	r.Transports = []recipe.Transport{t}
	conversion, err := r.Convert(recipe.Choice{Name: server.Name, Platform: "linux"})
	if err != nil {
		return v1alpha1.RecipeStatus{}, err
	}
	said := plan.RecipeServer{Description: r.Description, Denied: r.LocalOnly.Tools}
	if r.Install != nil {
		said.ToolsHash = r.Install.ToolsHash
	}
	if t.Type == recipe.Stdio {
		said.Transport, err = program(*r.Install, *conversion.Server.Program)
	} else {
		said.Transport, said.Auth, err = overHTTP(t.Type, conversion.Server)
	}
	if err != nil {
		return v1alpha1.RecipeStatus{}, err
	}
	status := v1alpha1.RecipeStatus{Secrets: slices.Sorted(slices.Values(conversion.Server.Secrets))}
	if o := conversion.Server.OAuth; o != nil {
		status.TokenSecret = o.Token
	}
	if len(conversion.Secrets) > 0 {
		status.CredentialsURL = conversion.Secrets[0].URL
	}
	return c.encode(server, said, status)
}

// encode puts what a recipe says into the status, if a bridge takes the server
// that comes of it.
func (c Catalog) encode(server v1alpha1.Server, said plan.RecipeServer, status v1alpha1.RecipeStatus) (v1alpha1.RecipeStatus, error) {
	if n := len(status.Secrets); n > secretLimit {
		return status, fmt.Errorf("it names %d secrets, and a server may use %d", n, secretLimit)
	}
	b, err := json.Marshal(said)
	if err != nil {
		return status, fmt.Errorf("encode the server: %w", err)
	}
	if len(b) > serverLimit {
		return status, fmt.Errorf("it says %d bytes of its server, and may say %d", len(b), serverLimit)
	}
	status.Source, status.Place = string(b), placeOf(said)
	if len(status.Place) > placeLimit {
		return status, fmt.Errorf("its URLs have hosts of more than %d bytes", placeLimit)
	}
	return status, c.runs(server, status)
}

// runs says why the bridge as it is would not take the server by that status,
// for which the whole bridge would be refused. Everything that is asked of a
// server of the spec is asked of it.
func (c Catalog) runs(server v1alpha1.Server, status v1alpha1.RecipeStatus) error {
	var said plan.RecipeServer
	if err := json.Unmarshal([]byte(status.Source), &said); err != nil {
		return fmt.Errorf("read what the recipe says: %w", err)
	}
	if stdio := said.Transport.Stdio; stdio != nil && stdio.Install != nil && slices.Contains(c.Lacking, stdio.Install.Method) {
		return fmt.Errorf("the installation has no image with %s", stdio.Install.Method)
	}
	if f := plan.Refuses(said.Over(server, status.Secrets)); f != (plan.Finding{}) {
		return errors.New(f.Message)
	}
	return nil
}

func overHTTP(kind recipe.TransportType, s config.Server) (v1alpha1.Transport, *v1alpha1.Auth, error) {
	t := v1alpha1.Transport{Type: types[kind], URL: s.URL}
	for _, h := range s.Headers {
		t.Headers = append(t.Headers, v1alpha1.Header{Name: h.Name, Value: h.Value})
	}
	if s.OAuth == nil {
		return t, nil, nil
	}
	o := s.OAuth
	if strings.Contains(o.ClientID+o.TokenURL+o.AuthorizationURL, "${") {
		return t, nil, errors.New("auth.clientId, auth.tokenUrl or auth.authorizationUrl names a variable, which only a bridge on the user's own machine fills in")
	}
	return t, &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
		Grant: grants[o.Grant], TokenURL: o.TokenURL, AuthorizationURL: o.AuthorizationURL, ClientID: o.ClientID, Scopes: o.Scopes,
		ClientSecret: v1alpha1.SecretName(o.ClientSecret), TokenSecret: v1alpha1.SecretName(o.Token),
	}}, nil
}

// program returns the program that npx or uvx run in the installation's image.
func program(i recipe.Install, p config.Program) (v1alpha1.Transport, error) {
	method := v1alpha1.InstallMethod(i.Method)
	if p.Command[0] != i.Method {
		return v1alpha1.Transport{}, fmt.Errorf("its program is started by %.40q and not by %s", p.Command[0], i.Method)
	}
	stdio := &v1alpha1.Stdio{
		Install: &v1alpha1.Install{Method: method, Package: i.Package, Version: i.Version},
		Command: p.Command,
	}
	for _, v := range p.Env {
		stdio.Env = append(stdio.Env, v1alpha1.StdioVariable{Name: v.Name, Value: v.Value})
	}
	for _, f := range p.Files {
		stdio.Files = append(stdio.Files, v1alpha1.StdioFile{Name: f.Name, Content: f.Content})
	}
	return v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: stdio}, nil
}
