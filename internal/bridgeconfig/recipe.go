// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"cmp"
	"slices"
)

// Over returns the recipe's server with the user's settings s: the recipe says what the server is,
// and the user how it is used.
func (s Server) Over(recipe Server) Server {
	s.Description = cmp.Or(s.Description, recipe.Description)
	s.Transport, s.URL, s.Headers, s.OAuth, s.Program = recipe.Transport, recipe.URL, recipe.Headers, recipe.OAuth, recipe.Program
	s.ProtocolVersion, s.NoListening, s.ToolsHash = recipe.ProtocolVersion, recipe.NoListening, recipe.ToolsHash
	s.Tools.Deny = slices.Clone(s.Tools.Deny)
	for _, tool := range recipe.Tools.Deny {
		if !slices.Contains(s.Tools.Deny, tool) {
			s.Tools.Deny = append(s.Tools.Deny, tool)
		}
	}
	return s
}
