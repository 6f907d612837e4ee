// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
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
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
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
	bare := func(body string) wireRequest { return post(modernHeader("tools/list", ""), body) }
	list, echo := call("tools/list", "", ""), call("tools/call", "echo", `"name":"echo","arguments":{"n":12345678901234567890,"t":"<&>"},`)
	headed := call("tools/call", "headed", `"name":"headed","arguments":{"region":"eu","size":3,"in":{"dry":true}},`)
	meta := func(meta string) wireRequest {
		return bare(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":` + meta + `}}`)
	}
	note := func(method, more string) wireRequest {
		return post(modernHeader(method, ""), fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, more))
	}
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	return map[string]wireRequest{
		"tools/list":               list,
		"prompts/list":             call("prompts/list", "", ""),
		"resources/list":           call("resources/list", "", ""),
		"resources/templates/list": call("resources/templates/list", "", ""),
		"server/discover":          call("server/discover", "", ""),
		"tools/call":               echo,
		"an id that is a text":     post(modernHeader("tools/call", "echo"), modernBody(`"a<b>"`, "tools/call", `"name":"echo",`)),
		"prompts/get":              call("prompts/get", "p", `"name":"p",`),
		"resources/read":           call("resources/read", "file:///r", `"uri":"file:///r",`),
		"completion/complete":      call("completion/complete", "", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"o"},`),
		"a tool that fails":        call("tools/call", "fails", `"name":"fails",`),
		"a tool that refuses":      call("tools/call", "refuses", `"name":"refuses",`),
		"progress and a log line": post(modernHeader("tools/call", "progress"), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","_meta":{`+version+
			`,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","progressToken":"tok"}}}`),
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
		"no body":                       bare(""),
		"no JSON":                       bare("{"),
		"a text":                        bare(`"x"`),
		"a number":                      bare(`1`),
		"null":                          bare(`null`),
		"a batch":                       bare("[" + list.body + "]"),
		"an empty batch":                bare("[]"),
		"another version of JSON-RPC":   bare(strings.Replace(list.body, `"2.0"`, `"1.0"`, 1)),
		"no version of JSON-RPC":        bare(strings.Replace(list.body, `"jsonrpc":"2.0",`, ``, 1)),
		"an id that is a list":          bare(strings.Replace(list.body, `"id":7`, `"id":[7]`, 1)),
		"an id that is null":            bare(strings.Replace(list.body, `"id":7`, `"id":null`, 1)),
		"a method that is a number":     bare(strings.Replace(list.body, `"tools/list"`, `3`, 1)),
		"an answer":                     bare(`{"jsonrpc":"2.0","id":3,"result":{}}`),
		"an error":                      bare(`{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}`),
		"an answer without an id":       bare(`{"jsonrpc":"2.0","result":{}}`),
		"no Mcp-Method":                 with(list, "Mcp-Method", ""),
		"another Mcp-Method":            with(list, "Mcp-Method", "tools/call"),
		"no Mcp-Name":                   with(echo, "Mcp-Name", ""),
		"another Mcp-Name":              with(echo, "Mcp-Name", "fails"),
		"a tool's name that is a list":  with(call("tools/call", "x", `"name":["x"],`)),
		"no tool's name":                with(call("tools/call", "x", ``)),
		"headers of parameters":         with(headed, "Mcp-Param-Region", "eu", "Mcp-Param-Size", "3", "Mcp-Param-Dry", "true"),
		"a number in another form":      with(headed, "Mcp-Param-Region", "eu", "Mcp-Param-Size", "3.0", "Mcp-Param-Dry", "true"),
		"a header in Base64":            with(headed, "Mcp-Param-Region", "=?base64?ZXU=?=", "Mcp-Param-Size", "3", "Mcp-Param-Dry", "true"),
		"a header in bad Base64":        with(headed, "Mcp-Param-Region", "=?base64?ZX?=", "Mcp-Param-Size", "3", "Mcp-Param-Dry", "true"),
		"a header that is missing":      with(headed, "Mcp-Param-Region", "eu", "Mcp-Param-Size", "3"),
		"another value in a header":     with(headed, "Mcp-Param-Region", "us", "Mcp-Param-Size", "3", "Mcp-Param-Dry", "true"),
		"another number in a header":    with(headed, "Mcp-Param-Region", "eu", "Mcp-Param-Size", "4", "Mcp-Param-Dry", "true"),
		"no number in a header":         with(headed, "Mcp-Param-Region", "eu", "Mcp-Param-Size", "x", "Mcp-Param-Dry", "true"),
		"a header for nothing":          with(call("tools/call", "headed", `"name":"headed","arguments":{},`), "Mcp-Param-Region", "eu"),
		"a header for null":             with(call("tools/call", "headed", `"name":"headed","arguments":{"region":null},`), "Mcp-Param-Region", "eu"),
		"a header for an object":        with(call("tools/call", "headed", `"name":"headed","arguments":{"region":{}},`), "Mcp-Param-Region", "eu"),
		"a header that nobody knows":    with(echo, "Mcp-Param-Other", "x"),
		"no header of the version":      with(list, "Mcp-Protocol-Version", ""),
		"a legacy header":               with(list, "Mcp-Protocol-Version", "2025-11-25"),
		"a version that is none":        with(list, "Mcp-Protocol-Version", "1999-01-01"),
		"a later header":                with(list, "Mcp-Protocol-Version", "2099-01-01"),
		"a later version":               with(post(list.header, strings.Replace(list.body, "2026-07-28", "2099-01-01", 1)), "Mcp-Protocol-Version", "2099-01-01"),
		"no metadata":                   bare(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
		"params that are null":          bare(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":null}`),
		"params that are a list":        bare(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}`),
		"metadata that is a list":       meta(`[]`),
		"a version that is a number":    meta(`{"io.modelcontextprotocol/protocolVersion":20260728}`),
		"no capabilities":               meta(`{` + version + `}`),
		"capabilities that are a list":  meta(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}`),
		"capabilities that are null":    meta(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":null}`),
		"a client that is a text":       meta(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":"x"}`),
		"a client with a name":          meta(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`),
		"a cursor that is a number":     call("tools/list", "", `"cursor":1,`),
		"a name in capitals":            with(call("tools/call", "echo", `"NAME":"echo",`)),
		"a member twice":                call("tools/call", "echo", `"name":"fails","name":"echo",`),
		"an unknown method":             call("tools/none", "", ""),
		"an unknown notification":       note("notifications/none", ""),
		"a method without an id":        note("tools/list", ""),
		"a notification with an id":     call("notifications/initialized", "", ""),
		"no params where some must be":  post(modernHeader("completion/complete", ""), `{"jsonrpc":"2.0","id":7,"method":"completion/complete"}`),
		"notifications/initialized":     note("notifications/initialized", ""),
		"notifications/cancelled":       note("notifications/cancelled", `,"params":{"requestId":1}`),
		"notifications/progress":        note("notifications/progress", `,"params":{"progressToken":1,"progress":1}`),
		"notifications/roots":           note("notifications/roots/list_changed", ""),
		"a notification's wrong header": with(note("notifications/initialized", ""), "Mcp-Method", "tools/list"),
		"initialize":                    call("initialize", "", `"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"x","version":"1"},`),
		"ping":                          call("ping", "", ""),
		"logging/setLevel":              call("logging/setLevel", "", `"level":"info",`),
		"resources/subscribe":           call("resources/subscribe", "", `"uri":"file:///r",`),
		"listening to nothing":          call("subscriptions/listen", "", `"notifications":{},`),
		"listening without a filter":    call("subscriptions/listen", "", ``),
		"a loop":                        with(list, "Hosted-Bridge-Hops", strings.Repeat("x,", 40)),
	}
}

// forPeople are the requests whose answers may say the same in other words: what
// reads JSON differs.
var forPeople = map[string]bool{
	"no JSON": true, "a text": true, "a number": true, "null": true, "an id that is a list": true, "a method that is a number": true,
	"a cursor that is a number": true, "a tool's name that is a list": true, "an answer without an id": true,
	"another version of JSON-RPC": true, "no version of JSON-RPC": true, "params that are a list": true,
}

// TestStatelessAnswersStay compares the answers to requests of 2026-07-28, byte
// for byte, with those that were recorded from the SDK's handler.
func TestStatelessAnswersStay(t *testing.T) {
	t.Parallel()
	server := everythingOf(t)
	upstream := serveMCP(t, server, "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, mcpserver.Server{Name: "all", URL: upstream.URL})
	// Which headers belong to a tool's parameters is known once the tools are listed.
	must.Value(r.connect(t, "modern", nil).ListTools(t.Context(), nil))(t)
	found := map[string]wireAnswer{}
	for name, request := range wireRequests() {
		response, body := r.do(t, request.method, r.url, request.body, request.header)
		found[name] = seen(response, body)
	}
	found["listening"] = listening(t, r, server)
	if *update {
		content := must.Value(json.MarshalIndent(found, "", " "))(t)
		must.Succeed(t, os.WriteFile(wireGolden, append(content, '\n'), 0o644))
	}
	content := must.Value(os.ReadFile(wireGolden))(t)
	var want map[string]wireAnswer
	must.Succeed(t, json.Unmarshal(content, &want))
	for name, answer := range found {
		expected := want[name]
		if forPeople[name] {
			answer.Body, expected.Body = wordless(answer.Body), wordless(expected.Body)
		}
		if diff := cmp.Diff(expected, answer); diff != "" {
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

// wordless returns an answer without its text.
func wordless(body string) string {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &m) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d", m.ID, m.Error.Code)
}

// listening returns the events of a stream on which a client listens, while lists
// and resources change and until the bridge ends.
func listening(t *testing.T, r *rig, server *mcp.Server) wireAnswer {
	t.Helper()
	ctx := t.Context()
	body := modernBody(`"l"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["file:///r"]},`)
	request := must.Value(http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range modernHeader("subscriptions/listen", "") {
		request.Header.Set(name, value)
	}
	response := must.Value(r.http.Do(request))(t)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	var all bytes.Buffer
	next := func(contains string) {
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), contains) {
				return
			}
		}
		t.Errorf("the stream ended before %s (%v):\n%s", contains, lines.Err(), all.String())
	}
	next("acknowledged")
	_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "file:///r"})
	next("resources/updated")
	server.AddPrompt(&mcp.Prompt{Name: "q"}, nil)
	next("prompts/list_changed")
	server.AddTool(&mcp.Tool{Name: "another", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	next("tools/list_changed")
	go r.bridge.Close()
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
	}
	// The bridge tells of a list when it hears that it changed, and again when it has
	// read it, which may be after the next change. Each event counts once.
	events, told := "", map[string]bool{}
	for event := range strings.SplitAfterSeq(all.String(), "\n\n") {
		if !told[event] {
			told[event] = true
			events += event
		}
	}
	return seen(response, events)
}
