// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARecipeSaysWhatAServerIsAndTheUserHowItIsUsed(t *testing.T) {
	remote := func(change ...func(*Server)) Server {
		s := Server{URL: "https://recipe.example.com/mcp"}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	program := Server{Transport: Stdio, Program: &Program{Command: []string{"npx", "-y", "notes@1.0.0"}}}
	login := &OAuth{Grant: ClientCredentials, TokenURL: "https://t.example.com", ClientID: "me"}
	for name, tt := range map[string]struct{ recipe, user, want Server }{
		"the recipe's place": {remote(), Server{Name: "one"}, remote(func(s *Server) { s.Name = "one" })},
		"what the user says of the place counts for nothing": {
			remote(), Server{URL: "https://user.example.com", OAuth: login, Headers: []Header{{Name: "A", Value: "b"}}, ProtocolVersion: "2025-11-25"}, remote(),
		},
		"the recipe's program":                             {program, Server{URL: "https://user.example.com"}, program},
		"the recipe's login":                               {remote(func(s *Server) { s.OAuth = login }), Server{}, remote(func(s *Server) { s.OAuth = login })},
		"the fingerprint of its tools":                     {remote(func(s *Server) { s.ToolsHash = "sha256-1" }), Server{ToolsHash: "sha256-2"}, remote(func(s *Server) { s.ToolsHash = "sha256-1" })},
		"the recipe's description where the user has none": {remote(func(s *Server) { s.Description = "recipe" }), Server{}, remote(func(s *Server) { s.Description = "recipe" })},
		"the user's description":                           {remote(func(s *Server) { s.Description = "recipe" }), Server{Description: "user"}, remote(func(s *Server) { s.Description = "user" })},
		"the user's secrets, trust, limits and names": {
			remote(func(s *Server) { s.Name, s.Secrets, s.Trust, s.MaxResultBytes = "recipe", []string{"B"}, Trusted, 7 }),
			Server{Name: "one", Secrets: []string{"A"}, Trust: Sanitize, MaxResultBytes: 5},
			remote(func(s *Server) { s.Name, s.Secrets, s.Trust, s.MaxResultBytes = "one", []string{"A"}, Sanitize, 5 }),
		},
		"the tools that either denies, each once": {
			remote(func(s *Server) { s.Tools = Tools{Deny: []string{"rm", "mv"}} }),
			Server{Tools: Tools{Allow: []string{"ls"}, Deny: []string{"rm", "cp"}}},
			remote(func(s *Server) { s.Tools = Tools{Allow: []string{"ls"}, Deny: []string{"rm", "cp", "mv"}} }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			denied := append([]string(nil), tt.user.Tools.Deny...)
			if diff := cmp.Diff(tt.want, tt.user.Over(tt.recipe)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(denied, tt.user.Tools.Deny); diff != "" {
				t.Errorf("the user's list was changed:\n%s", diff)
			}
		})
	}
}
