// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// RecipeServer is what a recipe says of a server. Its JSON is the source of a
// RecipeStatus.
type RecipeServer struct {
	// Description is for a server that the spec does not describe.
	Description string             `json:"description,omitempty"`
	Transport   v1alpha1.Transport `json:"transport"`
	Auth        *v1alpha1.Auth     `json:"auth,omitempty"`
	// Denied are the tools that a hosted bridge does not show.
	Denied []string `json:"denied,omitempty"`
	// ToolsHash is the fingerprint of the tools that were audited, empty for none.
	ToolsHash string `json:"toolsHash,omitempty"`
}

// Over returns the server of a spec with what its recipe says, as if that stood
// there. It may use those secrets.
func (r RecipeServer) Over(server v1alpha1.Server, secrets []string) v1alpha1.Server {
	server.Description = cmp.Or(server.Description, r.Description)
	server.Transport, server.Auth = r.Transport, r.Auth
	if r.Transport.Stdio != nil && server.Recipe.Resources != nil {
		server.Transport.Stdio = r.Transport.Stdio.DeepCopy()
		server.Transport.Stdio.Resources = server.Recipe.Resources
	}
	server.Secrets = make([]v1alpha1.SecretName, len(secrets))
	for i, name := range secrets {
		server.Secrets[i] = v1alpha1.SecretName(name)
	}
	if len(r.Denied) > 0 {
		filter := v1alpha1.ToolFilter{}
		if server.Tools != nil {
			filter = *server.Tools
		}
		filter.Deny = union(filter.Deny, r.Denied)
		server.Tools = &filter
	}
	return server
}

func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Servers returns the bridge's servers as they are with what status.recipes says
// of their recipes. One that is out of service for its recipe has no transport
// and may use no secret.
func Servers(b *v1alpha1.HostedBridge) []v1alpha1.Server {
	servers := slices.Clone(b.Spec.Servers)
	for i, server := range servers {
		if server.Recipe == nil {
			continue
		}
		servers[i].Secrets = nil
		if said, ok := saidOf(b, server); ok {
			servers[i] = said.Over(server, RecipeOf(b, server.Name).Secrets)
		}
	}
	return servers
}

// saidOf returns what status.recipes has of what the server's recipe says.
func saidOf(b *v1alpha1.HostedBridge, server v1alpha1.Server) (said RecipeServer, ok bool) {
	if server.Recipe == nil {
		return RecipeServer{}, false
	}
	status := RecipeOf(b, server.Name)
	ok = status.Recipe == server.Recipe.Name && json.Unmarshal([]byte(status.Source), &said) == nil
	return said, ok
}

// RecipeOf returns what status.recipes says of the server, nothing where it has
// none.
func RecipeOf(b *v1alpha1.HostedBridge, server string) v1alpha1.RecipeStatus {
	for _, s := range b.Status.Recipes {
		if s.Server == server {
			return s
		}
	}
	return v1alpha1.RecipeStatus{}
}

// RecipeSecrets tells which servers may use which secrets by their recipes from
// any other such grants. It is empty where none may use any.
func RecipeSecrets(recipes []v1alpha1.RecipeStatus) string {
	sorted := slices.Clone(recipes)
	slices.SortFunc(sorted, func(a, b v1alpha1.RecipeStatus) int { return cmp.Compare(a.Server, b.Server) })
	sorted = slices.DeleteFunc(sorted, func(s v1alpha1.RecipeStatus) bool { return len(s.Secrets) == 0 })
	if len(sorted) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, s := range sorted {
		_, _ = fmt.Fprintf(h, "%q%q", s.Server, slices.Sorted(slices.Values(s.Secrets)))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// outOfUse says that a server is out of service for its recipe.
func outOfUse(server v1alpha1.Server) bool {
	return server.Recipe != nil && server.Transport.URL == "" && server.Transport.Stdio == nil
}

// unusable says which servers are out of service for their recipes, and which
// recipes should not be used. Each begins with a semicolon, and is empty where
// there are none.
func unusable(b *v1alpha1.HostedBridge) (out, warned string) {
	var lost, odd []v1alpha1.RecipeStatus
	for _, s := range b.Status.Recipes {
		switch {
		case s.Source == "":
			lost = append(lost, s)
		case s.Reason != v1alpha1.ReasonRecipeInUse:
			odd = append(odd, s)
		}
	}
	say := func(s v1alpha1.RecipeStatus) string { return "server " + s.Server + ": " + s.Message }
	if len(lost) > 0 {
		out = "; out of service for its recipe: " + enumerate(lost, "; ", say)
	}
	if len(odd) > 0 {
		warned = "; " + enumerate(odd, "; ", say)
	}
	return out, warned
}
