// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const numberSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

// answerText returns the result in the answer to a message.
func answerText(t *testing.T, r *rig, body string, header map[string]string) string {
	t.Helper()
	_, answer := r.do(t, "POST", r.url, body, header)
	return string(answerOf(t, answer)["result"])
}

// schemaServer is a server with the tools right, whose results fit, and wrong, whose results do not.
func schemaServer(name string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	for tool, structured := range map[string]string{"right": `{"n":1}`, "wrong": `{}`} {
		s.AddTool(&mcp.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(numberSchema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: said("hello").Content, StructuredContent: json.RawMessage(structured)}, nil
			})
	}
	return s
}

// schemas returns which listed tools have an output schema.
func schemas(t *testing.T, client *mcp.ClientSession) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, tool := range must.Value(client.ListTools(t.Context(), nil))(t).Tools {
		found[tool.Name] = tool.OutputSchema != nil
	}
	return found
}

// TestASchemaThatResultsDoNotFitIsListedNoMore until the server lists another one. When clients know,
// results pass as they are.
func TestASchemaThatResultsDoNotFitIsListedNoMore(t *testing.T) {
	t.Parallel()
	for _, clientEra := range []string{"legacy", "modern"} {
		for _, serverEra := range []string{"legacy", "modern"} {
			for _, several := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s client, %s server, several %t", clientEra, serverEra, several), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { schemaIsDropped(t, clientEra, serverEra, several) })
				})
			}
		}
	}
}

func schemaIsDropped(t *testing.T, clientEra, serverEra string, several bool) {
	t.Helper()
	server := schemaServer("a")
	c := bridgeconfig.Config{Servers: []bridgeconfig.Server{named(newMemoryProgram(t, server, serverEra).Server, "a")}}
	prefix := ""
	if several {
		c.Servers, prefix = append(c.Servers, named(newMemoryProgram(t, emptyServer(nil), serverEra).Server, "b")), "a_"
	}
	changed := make(chan struct{}, 99)
	client := newBubbleRig(t, c).connect(t, clientEra, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	call := func(tool string) *mcp.CallToolResult {
		return must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: prefix + tool}))(t)
	}
	for _, tool := range []string{"right", "wrong"} {
		if !schemas(t, client)[prefix+tool] {
			t.Errorf("%s has no schema", tool)
		}
	}
	if result := call("right"); result.IsError || result.StructuredContent == nil {
		t.Errorf("a result that fits is %+v", result)
	}
	synctest.Wait()
	for len(changed) > 0 {
		<-changed
	}
	if result := call("wrong"); !result.IsError || result.StructuredContent != nil || len(result.Content) != 3 {
		t.Errorf("a result that does not fit is %+v", result)
	}
	<-changed
	if got := schemas(t, client); !got[prefix+"right"] || got[prefix+"wrong"] {
		t.Errorf("schemas: %v", got)
	}
	time.Sleep(61 * time.Second)
	if result := call("wrong"); result.IsError || result.StructuredContent == nil || len(result.Content) != 1 {
		t.Errorf("when clients know, it is %+v", result)
	}
	server.AddTool(&mcp.Tool{Name: "wrong", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("hello"), nil })
	time.Sleep(2 * time.Minute) // It is listed again.
	if !schemas(t, client)[prefix+"wrong"] {
		t.Error("another schema is not listed")
	}
}

// TestACutResultIsNotLost has the configuration leave out its structured content.
func TestACutResultIsNotLost(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "long", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: said("hello").Content, StructuredContent: map[string]string{"a": strings.Repeat("a", 10_000)}}, nil
		})
	server := served(t, "a", s, "modern")
	server.MaxResultBytes = 2000
	r := newRig(t, fast, server)
	answer := answerText(t, r, modernBody(1, methods.CallTool, `"name":"long",`), modernHeader(methods.CallTool, "long"))
	if fields := fieldsOf(t, answer); fields["structuredContent"] != "" || fields["isError"] != "true" || !strings.Contains(answer, `"hello"`) {
		t.Errorf("result = %s", answer)
	}
}
