// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestOneServersToolEmptiesNoClientsList has a server list a schema that clients refuse the whole list for.
func TestOneServersToolEmptiesNoClientsList(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	s.AddTool(&mcp.Tool{Name: "any", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":true,"m":false}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("any"), nil })
	r := newRig(t, fast, served(t, "one", s, "modern"), served(t, "two", echoServer("two"), "legacy"))
	for _, era := range []string{"modern", "legacy"} {
		found := false
		for _, tool := range must.Value(r.connect(t, era, nil).ListTools(t.Context(), nil))(t).Tools {
			if tool.Name == "one_any" {
				found = true
				if got := string(must.Value(json.Marshal(tool.InputSchema))(t)); got != `{"properties":{"m":{"not":{}},"n":{}},"type":"object"}` {
					t.Errorf("a %s client reads the schema %s", era, got)
				}
			}
		}
		if !found {
			t.Errorf("a %s client has no such tool", era)
		}
	}
}
