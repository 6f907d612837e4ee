// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// prefixes are what clients put before the names of a server's tools, by the server's name in
// their configuration, and how long a name may be with it: Gemini CLI cuts the middle out of a
// longer one, and vendors of models refuse the whole request.
var prefixes = map[string]int{
	"mcp__hosted-bridge__": 64, // Claude Code
	"mcp_hosted-bridge_":   63, // Gemini CLI
	"hosted-bridge_":       64, // opencode
	"mcp__bridge__":        64, // what bridge init writes
	"mcp__hb__":            64,
}

func TestNamesFitBehindThePrefixOfEachClient(t *testing.T) {
	t.Parallel()
	server := strings.Repeat("s", 32) // the longest that a HostedBridge accepts
	for _, rule := range []bridgeconfig.Prefix{bridgeconfig.PrefixAlways, bridgeconfig.PrefixAuto, bridgeconfig.PrefixNever} {
		for _, length := range []int{11, 12, 31, 32, 44, 45, 64, 128} {
			tool := strings.Repeat("t", length)
			one, two := emptyServer(nil), emptyServer(nil)
			for _, s := range []*mcp.Server{one, two} {
				rawTool(s, tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("it"), nil })
			}
			client := newRigOf(t, fast, bridgeconfig.Config{
				ToolPrefix: rule, ToolNameLength: bridgeconfig.DefaultToolNameLength,
				Servers: []bridgeconfig.Server{served(t, server, one, "legacy"), served(t, "two", two, "modern")},
			}).connect(t, "modern", nil)
			names := toolNames(t, client)
			if len(names) != 2 || names[0] == names[1] {
				t.Fatalf("%s, %d: tools %v", rule, length, names)
			}
			for _, name := range names {
				for prefix, limit := range prefixes {
					if len(prefix+name) > limit {
						t.Errorf("%s, %d: %s%s has %d characters, and the client takes %d", rule, length, prefix, name, len(prefix+name), limit)
					}
				}
				must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: name}))(t)
			}
		}
	}
}

// TestNamesStayWhereTheirLengthIsNotLimited has names that clients know, of the greatest length.
func TestNamesStayWhereTheirLengthIsNotLimited(t *testing.T) {
	t.Parallel()
	tool := strings.Repeat("t", 60)
	s := emptyServer(nil)
	rawTool(s, tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("it"), nil })
	r := newRig(t, fast, served(t, "one", s, "legacy"), served(t, "two", echoServer("two"), "modern"))
	if names := toolNames(t, r.connect(t, "legacy", nil)); names[0] != "one_"+tool {
		t.Errorf("tools %v", names)
	}
}
