// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Hosted returns the server of a recipe as bridges run it, and false if they cannot.
func Hosted(r recipe.Recipe) (bridgestate.Server, bool) {
	server := v1alpha1.Server{Name: "server", Recipe: &v1alpha1.RecipeReference{Name: r.ID}}
	if r.LocalOnly.All {
		return bridgestate.Server{}, false
	}
	h, err := Catalog{}.transport(server, r)
	if err != nil {
		return bridgestate.Server{}, false
	}
	return bridgestate.FromRecipe(server, h.said, h.Secrets), true
}
