// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// TestEveryClientReachesEveryServer lists and calls a tool in all four
// combinations of the eras.
func TestEveryClientReachesEveryServer(t *testing.T) {
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				upstream := serveMCP(t, echoServer("one"), serverEra)
				t.Cleanup(upstream.Close)
				r := newRig(t, fast, mcpserver.Server{Name: "one", URL: upstream.URL})
				client := r.connect(t, clientEra, nil)
				tools, err := client.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(tools.Tools) != 1 || tools.Tools[0].Name != "echo" || tools.Tools[0].Description != "from one" {
					t.Errorf("tools = %+v, want echo alone", tools.Tools)
				}
				if clientEra == "modern" && tools.CacheScope != "private" {
					t.Errorf("cacheScope = %q, want private", tools.CacheScope)
				}
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}})
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, result); got != "one: hi" {
					t.Errorf("text = %q", got)
				}
				info := client.InitializeResult()
				if info.ServerInfo == nil || info.ServerInfo.Name != "one" || info.Instructions != "say one" {
					t.Errorf("the client sees %+v with instructions %q, want the server itself", info.ServerInfo, info.Instructions)
				}
			})
		}
	}
}
