// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// TestAListWhoseCursorRepeatsFailsInWordsThatSaySo, and not by the deadline of the connection.
func TestAListWhoseCursorRepeatsFailsInWordsThatSaySo(t *testing.T) {
	t.Parallel()
	for serverEra := range eraNames {
		t.Run(serverEra+" server", func(t *testing.T) {
			t.Parallel()
			s := echoServer("one")
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if list, ok := req.GetParams().(*mcp.ListToolsParams); ok {
						list.Cursor = "" // The first page again.
					}
					result, err := next(ctx, method, req)
					if page, ok := result.(*mcp.ListToolsResult); ok {
						page.NextCursor = "again"
					}
					return result, err
				}
			})
			front := serveMCP(t, s, serverEra)
			t.Cleanup(front.Close)
			r := newRig(t, fast, mcpserver.Server{Name: "one", URL: front.URL})
			_, err := r.connect(t, "modern", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}})
			const want = `server "one" is not available: the server's list of tools has no end: its cursor repeats`
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want %s", err, want)
			}
			if h := r.bridge.Health().Servers["one"]; !strings.Contains(h.Error, "its cursor repeats") {
				t.Errorf("health: %+v", h)
			}
		})
	}
}
