// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// RecipeOf returns the server's entry in status.recipes, a zero one if it has
// none.
func RecipeOf(b *v1alpha1.HostedBridge, server string) v1alpha1.RecipeStatus {
	for _, s := range b.Status.Recipes {
		if s.Server == server {
			return s
		}
	}
	return v1alpha1.RecipeStatus{}
}

// RecipeSecrets returns a text that changes with the secrets that servers may
// use by their recipes. It is empty if none may use any.
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

// unusable says which servers are out of service because of their recipes, and
// which recipes should not be used. Each begins with a semicolon, and is empty
// if there are none.
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
