// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// RecipeOf returns the server's entry in status.recipes, a zero one if it has
// none.
func RecipeOf(b *effective.Bridge, server string) v1alpha1.RecipeStatus {
	for _, s := range b.Status.Recipes {
		if s.Server == server {
			return s
		}
	}
	return v1alpha1.RecipeStatus{}
}

// SecretsBesideSpec returns a text that changes with the secrets that servers may use by
// their recipes or by a profile, which change without the generation of the spec. It is
// empty if none may use any.
func SecretsBesideSpec(b *effective.Bridge) string {
	named := map[string][]string{}
	for _, s := range b.Status.Recipes {
		named[s.Server] = s.Secrets
	}
	for _, s := range b.Spec.Servers {
		if s.Recipe == nil && s.Shared == "" && isGiven(b, s.Name) {
			named[s.Name] = SecretNames(s.Secrets)
		}
	}
	maps.DeleteFunc(named, func(_ string, secrets []string) bool { return len(secrets) == 0 })
	if len(named) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, server := range slices.Sorted(maps.Keys(named)) {
		_, _ = fmt.Fprintf(h, "%q%q", server, slices.Sorted(slices.Values(named[server])))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// isGiven reports whether the server is one that a profile gives.
func isGiven(b *effective.Bridge, server string) bool {
	return b.Status.Effective != nil && slices.ContainsFunc(b.Status.Effective.Servers, func(s v1alpha1.EffectiveServer) bool {
		return s.Name == server && s.Source != ""
	})
}

// SecretNames returns the names as texts.
func SecretNames(secrets []v1alpha1.SecretName) []string {
	list := make([]string, len(secrets))
	for i, name := range secrets {
		list[i] = string(name)
	}
	return list
}

// unusable says which servers are out of service because of their recipes, and
// which recipes should not be used. Each begins with a semicolon, and is empty
// if there are none.
func unusable(b *effective.Bridge) (out, warned string) {
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
