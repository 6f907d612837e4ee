// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// describe is a method of an extension that there is not. Its row is all that the bridge knows.
const describe = "example.dev/tools/describe"

func init() {
	methods.Add(methods.Method{
		Name: describe, From: methods.Client, In: methods.Modern, Passed: true,
		Request: methods.Request{Names: methods.Tool, Repeats: methods.Always},
	})
}

// description is what describingServer answers.
type description struct {
	mcp.ResultBase
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Header string `json:"header"`
}

// describingServer serves the method, and repeats which tool it was asked for, in the parameters and in the
// header.
func describingServer(t *testing.T, name, eraName string) bridgeconfig.Server {
	t.Helper()
	s := echoServer(name)
	var header atomic.Value
	header.Store("")
	err := mcp.AddReceivingCustomMethod(s, describe, func(_ context.Context, _ *mcp.ServerSession, p *message.ExtensionParams) (*description, error) {
		return &description{Server: name, Tool: p.Name, Header: header.Load().(string)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := mcpHandler(t, s, eraName)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get("Mcp-Name"); name != "" { // Others list tools meanwhile.
			header.Store(name)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	return bridgeconfig.Server{Name: name, URL: upstream.URL}
}

// TestAMethodOfAnExtensionIsOneRow has the method reach the server that has the tool, by the tool's own
// name, from a client of 2026-07-28 to servers of both eras.
func TestAMethodOfAnExtensionIsOneRow(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, fast, bridgeconfig.Config{ToolPrefix: bridgeconfig.PrefixAlways, Servers: []bridgeconfig.Server{
		describingServer(t, "one", "legacy"), describingServer(t, "two", "modern"),
	}})
	awaitLists(t, r.bridge)
	ask := func(method, tool string) (answer map[string]json.RawMessage) {
		_, body := r.do(t, "POST", r.url, modernBody(1, method, `"name":"`+tool+`",`), modernHeader(method, tool))
		return answerOf(t, body)
	}
	for server, header := range map[string]string{"one": "", "two": "echo"} {
		var got description
		answer := ask(describe, server+"_echo")
		if err := json.Unmarshal(answer["result"], &got); err != nil || got.Server != server || got.Tool != "echo" || got.Header != header {
			t.Errorf("a request for server %s is answered %s", server, answer)
		}
	}
	for call, code := range map[[2]string]int{{describe, "three_echo"}: jsonrpc.CodeInvalidParams, {"example.dev/unknown", "one_echo"}: jsonrpc.CodeMethodNotFound} {
		var refused struct{ Code int }
		answer := ask(call[0], call[1])
		if err := json.Unmarshal(answer["error"], &refused); err != nil || refused.Code != code {
			t.Errorf("%s of %s is answered %s, want the code %d", call[0], call[1], answer, code)
		}
	}
}
