// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
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

// TestTheOnlyServersEntryEmptiesNoClientsList has entries that clients refuse the whole list for among
// others, which stay as they are.
func TestTheOnlyServersEntryEmptiesNoClientsList(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"tools/list":               `{"name":"t","inputSchema":{"type":"object","z":1,"a":12345678901234567890},"x":[1.50]}`,
		"prompts/list":             `{"z":1,"name":"p","arguments":[{"x":1.50,"name":"a"}]}`,
		"resources/list":           `{"z":1,"uri":"a:b","name":"r","size":1.50}`,
		"resources/templates/list": `{"z":1,"uriTemplate":"a:{b}","name":"r"}`,
	}
	mended := map[string][2]string{
		"tools/list":               {`{"name":"any","inputSchema":{"type":"object","properties":{"n":true}}}`, `{"inputSchema":{"type":"object","properties":{"n":{}}},"name":"any"}`},
		"prompts/list":             {`{"name":"any","arguments":{}}`, `{"name":"any"}`},
		"resources/list":           {`{"uri":"c:d","size":"1"}`, `{"name":"c:d","uri":"c:d"}`},
		"resources/templates/list": {`{"uriTemplate":"c:{d}"}`, `{"name":"c:{d}","uriTemplate":"c:{d}"}`},
	}
	results := map[string]string{"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"wire","version":"1"}}`}
	for method, entry := range good {
		results[method] = `{"` + methods.Of(method).List.Field + `":[` + entry + `,` + mended[method][0] + `,{"description":"no name"},null,5]}`
	}
	upstream := wireServer(t, results)
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	legacyHeader := r.session(t)
	for method, entry := range good {
		want := "[" + entry + "," + mended[method][1] + "]"
		for era, header := range map[string]map[string]string{"legacy": legacyHeader, "modern": modernHeader(method, "")} {
			ask := modernBody(1, method, "")
			if era == "legacy" {
				ask = `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`
			}
			_, body := r.do(t, "POST", r.url, ask, header)
			if got := fieldsOf(t, string(answerOf(t, body)["result"]))[methods.Of(method).List.Field]; got != want {
				t.Errorf("%s for a %s client: %s, want %s", method, era, got, want)
			}
		}
	}
}
