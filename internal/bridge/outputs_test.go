// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/outputs"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const numberSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

// checked returns why a client on the TypeScript SDK (1.32.2 or 2.4.0) shows an error in place of a
// result, empty if it shows the result. It has listed the tool with its schema.
func checked(t *testing.T, result map[string]string) string {
	t.Helper()
	raw, structured := result["structuredContent"]
	switch {
	case !structured && result["isError"] != "true":
		return "it did not return structured content"
	case !structured:
		return ""
	}
	var value struct{ N *int }
	if json.Unmarshal([]byte(raw), &value) != nil || value.N == nil {
		return "its structured content does not match"
	}
	return ""
}

// TestNoTextOfAResultIsLostBecauseOfItsSchema has a server answer in ways that clients with its list
// show as errors. marked are the texts in the result of one that is marked.
func TestNoTextOfAResultIsLostBecauseOfItsSchema(t *testing.T) {
	t.Parallel()
	const hello = `{"type":"text","text":"hello"}`
	long := strings.Repeat("a", 70_000)
	for name, tt := range map[string]struct {
		schema, result string
		want           string   // empty for the result as it is, or marked
		marked         []string // the texts before that of the bridge
	}{
		"a result that fits":         {numberSchema, `{"content":[` + hello + `],"structuredContent":{"n":1}}`, "", nil},
		"structured content alone":   {numberSchema, `{"content":[],"structuredContent":{"n":1.0}}`, `{"content":[{"text":"{\"n\":1.0}","type":"text"}],"structuredContent":{"n":1.0}}`, nil},
		"no content":                 {numberSchema, `{"structuredContent":{"n":1}}`, `{"content":[{"text":"{\"n\":1}","type":"text"}],"structuredContent":{"n":1}}`, nil},
		"no content and no schema":   {"", `{"structuredContent":{"n":1}}`, `{"content":[{"text":"{\"n\":1}","type":"text"}],"structuredContent":{"n":1}}`, nil},
		"a text that is the content": {numberSchema, `{"content":[` + hello + `,{"type":"text","text":" {\"n\":12}"}]}`, `{"content":[` + hello + `,{"type":"text","text":" {\"n\":12}"}],"structuredContent":{"n":12}}`, nil},
		"a text alone":               {numberSchema, `{"content":[` + hello + `]}`, "", []string{"hello"}},
		"a null":                     {numberSchema, `{"content":[` + hello + `],"structuredContent":null}`, "", []string{"hello"}},
		"no text and no structure":   {numberSchema, `{"content":[]}`, "", []string{}},
		"another type":               {numberSchema, `{"content":[` + hello + `],"structuredContent":{"n":"1"}}`, "", []string{"hello", `{"n":"1"}`}},
		"another type, and its text": {numberSchema, `{"content":[{"type":"text","text":"{\"n\": \"1\"}"}],"structuredContent":{"n":"1"}}`, "", []string{`{"n": "1"}`}},
		"another type alone":         {numberSchema, `{"structuredContent":{}}`, "", []string{`{}`}},
		"a null and no schema":       {"", `{"content":[` + hello + `],"structuredContent":null}`, `{"content":[` + hello + `]}`, nil},
		"an error":                   {numberSchema, `{"content":[` + hello + `],"isError":true}`, "", nil},
		"a task":                     {numberSchema, `{"task":{"taskId":"a","status":"working"},"content":[]}`, "", nil},
		"a large result":             {numberSchema, `{"content":[{"type":"text","text":"` + long + `"}],"structuredContent":{}}`, "", nil},
		"a tool without a schema":    {"", `{"content":[` + hello + `]}`, "", nil},
		"a schema of itself":         {`{"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"a schema without an end":    {`{"type":"object","allOf":[{"$ref":"#"}]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"a schema elsewhere":         {`{"type":"object","allOf":[{"$ref":"https://127.0.0.1:1/a.json"}]}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
		"no schema":                  {`{"type":"object","pattern":5}`, `{"content":[` + hello + `],"structuredContent":{}}`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := `{"name":"t","inputSchema":{"type":"object"}`
			if tt.schema != "" {
				tool += `,"outputSchema":` + tt.schema
			}
			server := wireServer(t, map[string]string{
				"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"wire","version":"1"}}`,
				"tools/list": `{"tools":[` + tool + `}]}`,
				"tools/call": tt.result,
			})
			t.Cleanup(server.Close)
			r := newRig(t, fast, mcpserver.Server{Name: "one", URL: server.URL})
			sent := []string{
				answerText(t, r, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, r.session(t)),
				answerText(t, r, modernBody(1, "tools/call", `"name":"t",`), modernHeader("tools/call", "t")),
			}
			for _, answer := range sent {
				got := fieldsOf(t, answer)
				delete(got, "resultType")
				delete(got, "_meta")
				if tt.marked != nil {
					checkMarked(t, answer, got, tt.marked)
					continue
				}
				want := tt.want
				if want == "" {
					want = tt.result
				}
				if diff := cmp.Diff(fieldsOf(t, want), got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			}
			unfit := 0
			if tt.marked != nil {
				unfit = len(sent)
			}
			if got := r.bridge.Health().Servers["one"].UnfitResults; got != unfit {
				t.Errorf("the health counts %d results that do not fit", got)
			}
		})
	}
}

// answerText returns the result in the answer to a message.
func answerText(t *testing.T, r *rig, body string, header map[string]string) string {
	t.Helper()
	_, answer := r.do(t, "POST", r.url, body, header)
	return string(answerOf(t, answer)["result"])
}

// checkMarked checks a result that is marked as an error.
func checkMarked(t *testing.T, answer string, fields map[string]string, texts []string) {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	must.Succeed(t, json.Unmarshal([]byte(answer), &result))
	var got []string
	for _, block := range result.Content {
		got = append(got, block.Text)
	}
	if len(got) == 0 || !strings.Contains(got[len(got)-1], "The tool reports no error.") {
		t.Fatalf("no text says that the tool reports no error: %s", answer)
	}
	if diff := cmp.Diff(texts, got[:len(got)-1]); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if why := checked(t, fields); why != "" || string(result.Meta[outputs.MetaUnfit]) != `{"isError":false}` {
		t.Errorf("a client shows %q in place of %s", why, answer)
	}
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
	c := mcpserver.Config{Servers: []mcpserver.Server{named(newMemoryProgram(t, server, serverEra).Server, "a")}}
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

// TestManyCallsOfAToolWhoseResultsDoNotFit has them end at the same time.
func TestManyCallsOfAToolWhoseResultsDoNotFit(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast, served(t, "a", schemaServer("a"), "modern"), served(t, "b", echoServer("b"), "legacy"))
	client := r.connect(t, "modern", nil)
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			if result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "a_wrong"}); err != nil || !result.IsError {
				t.Errorf("%+v, %v", result, err)
			}
			_, _ = client.ListTools(t.Context(), nil)
		})
	}
	calls.Wait()
	if got := r.bridge.Health().Servers["a"].UnfitResults; got != 50 {
		t.Errorf("the health counts %d results", got)
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
