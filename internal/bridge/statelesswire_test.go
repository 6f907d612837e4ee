// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/version"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wireGolden holds the answers that the SDK's handler gave to the requests of
// wireRequests, when it served 2026-07-28.
const wireGolden = "testdata/stateless.json"

// wireAnswer is what a client sees of an answer.
type wireAnswer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
}

// wireRequest is a request as it comes in.
type wireRequest struct {
	method string
	header map[string]string
	body   string
}

// everythingOf returns a server with all that a client can ask for.
func everythingOf(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "all", Version: "1"}, &mcp.ServerOptions{
		Instructions:       "say all",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"<one>"}}}, nil
		},
	})
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
		`"size":{"type":"integer","x-mcp-header":"Size"},"in":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}}`)
	echo := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<got> " + string(r.Params.Arguments)}}}, nil
	}
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, echo)
	s.AddTool(&mcp.Tool{Name: "headed", InputSchema: schema}, echo)
	s.AddTool(&mcp.Tool{Name: "fails", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "refuses", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32042, Message: "refused", Data: json.RawMessage(`{"why":"<b>"}`)}
	})
	s.AddTool(&mcp.Tool{Name: "progress", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: "<step>"})
		}
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "a <line>"})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}}, nil
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "file:///r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///r", Text: "text"}}}, nil
	})
	return s
}

// wireRequests are requests of 2026-07-28, right and wrong.
func wireRequests() map[string]wireRequest {
	post := func(header map[string]string, body string) wireRequest { return wireRequest{"POST", header, body} }
	call := func(method, name, params string) wireRequest {
		return post(modernHeader(method, name), modernBody(7, method, params))
	}
	with := func(r wireRequest, header ...string) wireRequest {
		own := maps.Clone(r.header)
		for i := 0; i < len(header); i += 2 {
			own[header[i]] = header[i+1]
		}
		return wireRequest{r.method, own, r.body}
	}
	list, echo := call("tools/list", "", ""), call("tools/call", "echo", `"name":"echo","arguments":{"n":12345678901234567890,"t":"<&>"},`)
	return map[string]wireRequest{
		"tools/list":               list,
		"prompts/list":             call("prompts/list", "", ""),
		"resources/list":           call("resources/list", "", ""),
		"resources/templates/list": call("resources/templates/list", "", ""),
		"server/discover":          call("server/discover", "", ""),
		"tools/call":               echo,
		"prompts/get":              call("prompts/get", "p", `"name":"p",`),
		"resources/read":           call("resources/read", "file:///r", `"uri":"file:///r",`),
		"completion/complete":      call("completion/complete", "", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"o"},`),
		"a tool that fails":        call("tools/call", "fails", `"name":"fails",`),
		"a tool that refuses":      call("tools/call", "refuses", `"name":"refuses",`),
		"progress and a log line": post(modernHeader("tools/call", "progress"), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","progressToken":"tok"}}}`),
		"a tool that is not there":      call("tools/call", "nobody", `"name":"nobody",`),
		"a prompt that is not there":    call("prompts/get", "nobody", `"name":"nobody",`),
		"a resource that is not there":  call("resources/read", "file:///no", `"uri":"file:///no",`),
		"a large body":                  call("tools/call", "echo", `"name":"echo","arguments":{"t":"`+strings.Repeat("x", 200_000)+`"},`),
		"a body that is too large":      call("tools/call", "echo", `"name":"echo","arguments":{"t":"`+strings.Repeat("x", message.MaxBody)+`"},`),
		"GET":                           {"GET", modernHeader("", ""), ""},
		"DELETE":                        {"DELETE", modernHeader("", ""), ""},
		"another content type":          with(list, "Content-Type", "text/plain"),
		"a content type with a charset": with(list, "Content-Type", "application/json; charset=utf-8"),
		"Accept without streams":        with(list, "Accept", "application/json"),
		"Accept without JSON":           with(list, "Accept", "text/event-stream"),
		"Accept anything":               with(list, "Accept", "*/*;q=0.1"),
		"a Last-Event-ID":               with(list, "Last-Event-ID", "1"),
		"a session beside":              with(list, "Mcp-Session-Id", "nobody"),
		"a version that is none":        with(list, "Mcp-Protocol-Version", "1999-01-01"),
		"listening to nothing":          call("subscriptions/listen", "", `"notifications":{},`),
		"listening without a filter":    call("subscriptions/listen", "", ``),
		"a loop":                        with(list, "Hosted-Bridge-Hops", strings.Repeat("x,", 40)),
	}
}

// TestStatelessAnswersStay compares the answers to requests of 2026-07-28, byte
// for byte, with those that were recorded from the SDK's handler.
func TestStatelessAnswersStay(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, everythingOf(t), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "all", URL: upstream.URL})
	found := map[string]wireAnswer{}
	for name, request := range wireRequests() {
		response, body := r.do(t, request.method, r.url, request.body, request.header)
		found[name] = seen(response, body)
	}
	if *update {
		content := must.Value(json.MarshalIndent(found, "", " "))(t)
		must.Succeed(t, os.WriteFile(wireGolden, append(content, '\n'), 0o644))
	}
	content := must.Value(os.ReadFile(wireGolden))(t)
	var want map[string]wireAnswer
	must.Succeed(t, json.Unmarshal(content, &want))
	for name, answer := range found {
		if diff := cmp.Diff(want[name], answer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d answers, want %d", len(found), len(want))
	}
}

// seen returns what is compared of an answer.
func seen(response *http.Response, body string) wireAnswer {
	a := wireAnswer{Status: response.StatusCode, Header: map[string]string{}, Body: strings.ReplaceAll(body, version.String(), "VERSION")}
	if len(a.Body) > 100_000 {
		a.Body = fmt.Sprintf("%s (%d bytes)", a.Body[:200], len(a.Body))
	}
	for _, name := range []string{"Content-Type", "Allow", "Cache-Control", "X-Accel-Buffering", "Mcp-Session-Id"} {
		if value := response.Header.Get(name); value != "" {
			a.Header[name] = value
		}
	}
	return a
}
