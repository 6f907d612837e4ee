// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// post posts a message and returns the answer with its trailer, of which it
// leaves out what is not the same twice.
func (r *rig) post(t *testing.T, header map[string]string, body string) (string, []audit.Call) {
	t.Helper()
	req := must.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp := must.Value(r.http.Do(req))(t)
	defer resp.Body.Close()
	answer := must.Value(io.ReadAll(resp.Body))(t)
	value := resp.Trailer.Get(audit.TrailerName)
	if value == "" {
		return string(answer), nil
	}
	trailer, err := audit.ParseTrailer(value)
	if err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	return string(answer), trailer.Calls
}

var sizes = cmpopts.IgnoreFields(audit.Call{}, "ID", "LatencyMS", "BytesIn", "BytesOut")

// TestEveryCallHasItsEntry has calls fail at a server. Package callaudit decides what an entry says.
func TestEveryCallHasItsEntry(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request, sentMessage, int) string
		tool   string
		want   audit.Call
	}{
		"an error result":     {same(`{"isError":true,"content":[]}`), "t", audit.Call{Server: "one", Tool: "t", Status: audit.ToolError}},
		"a server in trouble": {refusing(http.StatusBadGateway), "t", audit.Call{Server: "one", Tool: "t", Status: audit.UpstreamError, ErrorType: "upstream_unavailable"}},
		"a server that is late": {func(_ http.ResponseWriter, r *http.Request, _ sentMessage, _ int) string {
			<-r.Context().Done()
			return ""
		}, "t", audit.Call{Server: "one", Tool: "t", Status: audit.Timeout, ErrorType: "upstream_timeout"}},
		"a tool that is unknown": {same(done), "nobody's", audit.Call{Tool: "nobody_s", Status: audit.ProtocolError, ErrorType: "-32602"}},
	}
	for name, tt := range tests {
		for clientEra, version := range eraNames {
			t.Run(name+"/"+clientEra, func(t *testing.T) {
				t.Parallel()
				s := &script{answer: tt.answer}
				server := s.serve(t)
				if tt.want.Status == audit.Timeout {
					server.Timeouts.Call = bridgeconfig.Duration(200 * time.Millisecond)
				}
				server.Tools.Allow = []string{"t"}
				r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server}})
				awaitLists(t, r.bridge)
				params := `"name":"` + tt.tool + `","arguments":{"b":"canary","a":1}`
				header, body := modernHeader(methods.CallTool, tt.tool), modernBody(7, methods.CallTool, params+",")
				if clientEra == "legacy" {
					header, body = r.session(t), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{`+params+`}}`
				}
				header[callaudit.HeaderRecord] = "1"
				want := tt.want
				want.Method, want.ParamKeys, want.ProtocolVersion = methods.CallTool, []string{"a", "b"}, version
				answer, got := r.post(t, header, body)
				if diff := cmp.Diff([]audit.Call{want}, got, sizes); diff != "" {
					t.Errorf("trailer (-want +got):\n%s\nanswer: %s", diff, answer)
				}
				if len(got) == 1 && got[0].BytesIn != int64(len(`{"b":"canary","a":1}`)) {
					t.Errorf("%d bytes in", got[0].BytesIn)
				}
			})
		}
	}
}

// TestAnEntrySaysWhatWasKeptAndRepeated calls a tool that fails once, twice.
func TestAnEntrySaysWhatWasKeptAndRepeated(t *testing.T) {
	t.Parallel()
	s := &script{annotations: readOnly, answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
		if n == 1 {
			return failing(w, r, m, n)
		}
		return done
	}}
	server := s.serve(t)
	server.Retry, server.CacheTTL = thrice, anHour
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server}})
	awaitLists(t, r.bridge)
	var got []audit.Call
	for range 2 {
		_, calls := r.post(t, modernHeader(methods.CallTool, "t"), modernBody(1, methods.CallTool, `"name":"t",`))
		got = append(got, calls...)
	}
	if len(got) != 2 || got[0].Retries != 1 || got[0].Cached || got[1].Retries != 0 || !got[1].Cached {
		t.Errorf("entries = %+v", got)
	}
}

// TestTheRoutersCallsHaveTheirEntries calls through the one tool.
func TestTheRoutersCallsHaveTheirEntries(t *testing.T) {
	t.Parallel()
	s := &script{answer: same(done)}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	version := eraNames["modern"]
	tests := map[string]struct {
		arguments string
		want      []audit.Call
	}{
		"a call": {`{"tool":"t","params":{"a":1}}`, []audit.Call{
			{Server: "one", Tool: "t", Action: "call", Method: methods.CallTool, ParamKeys: []string{"a"}, Status: audit.Success, ProtocolVersion: version},
		}},
		"a call that is refused": {`{"tool":"nobody"}`, []audit.Call{
			{Tool: "nobody", Action: "call", Method: methods.CallTool, Status: audit.ProtocolError, ErrorType: "unknown_tool", ProtocolVersion: version},
		}},
		"what is no call": {`{"action":"list","server":"one"}`, []audit.Call{
			{Tool: "mcp", Action: "list", Method: methods.CallTool, ParamKeys: []string{"action", "server"}, Status: audit.Success, ProtocolVersion: version},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			answer, got := r.post(t, modernHeader(methods.CallTool, "mcp"), modernBody(1, methods.CallTool, `"name":"mcp","arguments":`+tt.arguments+`,`))
			slices.SortFunc(got, func(a, b audit.Call) int { return slices.Compare(a.ParamKeys, b.ParamKeys) })
			if diff := cmp.Diff(tt.want, got, sizes); diff != "" {
				t.Errorf("trailer (-want +got):\n%s\nanswer: %s", diff, answer)
			}
		})
	}
}

// TestAQuestionIsNoAnswer has a modern server ask before it answers.
func TestAQuestionIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	rawTool(s, "t", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema}}}, nil
	})
	front := serveMCP(t, s, "modern")
	t.Cleanup(front.Close)
	server := bridgeconfig.Server{Name: "one", URL: front.URL, Trust: bridgeconfig.Sanitize, MaxResultBytes: 100, CacheTTL: anHour}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server}})
	body := strings.Replace(modernBody(1, methods.CallTool, `"name":"t",`), `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`, 1)
	answer, calls := r.post(t, modernHeader(methods.CallTool, "t"), body)
	if len(calls) != 1 || calls[0].Status != audit.InputRequired {
		t.Errorf("entries = %+v; answer = %s", calls, answer)
	}
	if !strings.Contains(answer, `"inputRequests"`) || strings.Contains(answer, pipeline.MetaTrust) {
		t.Errorf("a question was taken for a result: %s", answer)
	}
}
