// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"slices"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func TestARecipeIsHostedAsABridgeRunsIt(t *testing.T) {
	program, ok := Hosted(notes())
	if !ok || program.Program == nil || !slices.Contains(program.Program.Command, "@example/notes@1.2.3") {
		t.Errorf("a program: %+v, %t", program, ok)
	}
	if s, ok := Hosted(remote()); !ok || s.Program != nil || s.URL == "" {
		t.Errorf("a remote server: %+v, %t", s, ok)
	}
	both := notes(func(r *recipe.Recipe) { r.Transports = append(r.Transports, remote().Transports...) })
	if s, ok := Hosted(both); !ok || s.Program != nil {
		t.Errorf("a remote server is better than a program: %+v, %t", s, ok)
	}
	if _, ok := Hosted(notes(func(r *recipe.Recipe) { r.LocalOnly.All = true })); ok {
		t.Error("a recipe for people's own machines is hosted")
	}
}
