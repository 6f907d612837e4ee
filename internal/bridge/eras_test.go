// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestEveryClientReachesEveryServer lists and calls a tool in all four
// combinations of the eras.
func TestEveryClientReachesEveryServer(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				upstream := serveMCP(t, echoServer("one"), serverEra)
				t.Cleanup(upstream.Close)
				r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
				client := r.connect(t, clientEra, nil)
				tools := must.Value(client.ListTools(t.Context(), nil))(t)
				if len(tools.Tools) != 1 || tools.Tools[0].Name != "echo" || tools.Tools[0].Description != "from one" {
					t.Errorf("tools = %+v, want echo alone", tools.Tools)
				}
				if clientEra == "modern" && tools.CacheScope != "private" {
					t.Errorf("cacheScope = %q, want private", tools.CacheScope)
				}
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}}))(t)
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

// TestOnlyServedCapabilitiesArePassedOn has a server with capabilities whose methods
// the bridge does not forward.
func TestOnlyServedCapabilitiesArePassedOn(t *testing.T) {
	t.Parallel()
	const ui = "io.modelcontextprotocol/ui"
	for serverEra := range eraNames {
		for clientEra := range eraNames {
			t.Run(clientEra+" client, "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				s := emptyServer(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
					Experimental: map[string]any{"tricks": map[string]any{}},
					Extensions: map[string]any{
						"io.modelcontextprotocol/skills": map[string]any{}, "io.modelcontextprotocol/tasks": map[string]any{}, ui: map[string]any{"version": "1"},
					},
					Logging:   &mcp.LoggingCapabilities{},
					Resources: &mcp.ResourceCapabilities{ListChanged: true},
					Tools:     &mcp.ToolCapabilities{ListChanged: true},
				}})
				rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("x"), nil })
				client := newRig(t, fast, served(t, "one", s, serverEra)).connect(t, clientEra, nil)
				got := client.InitializeResult().Capabilities
				if len(got.Experimental) != 0 || got.Logging == nil || got.Resources == nil || got.Tools == nil || !got.Tools.ListChanged {
					t.Errorf("the capabilities are %+v", got)
				}
				if diff := cmp.Diff(map[string]any{ui: map[string]any{"version": "1"}}, got.Extensions); diff != "" {
					t.Errorf("extensions (-want +got):\n%s", diff)
				}
			})
		}
	}
}
