// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// counted serves s and counts the requests that it has to answer. Streams and notifications of a new
// connection may come later than what they belong to.
func counted(t *testing.T, name string, s *mcp.Server, eraName string) (bridgeconfig.Server, *atomic.Int32) {
	t.Helper()
	var requests atomic.Int32
	inner := mcpHandler(t, s, eraName)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if method := r.Header.Get("Mcp-Method"); r.Method == http.MethodPost && method != "subscriptions/listen" && !bytes.Contains(body, []byte(`"method":"notifications/`)) {
			requests.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return bridgeconfig.Server{Name: name, URL: server.URL}, &requests
}

// listed waits until the bridge knows that many tools.
func listed(t *testing.T, b *Bridge, tools int) {
	t.Helper()
	wait.Until(t, "the servers' tools", func() bool { return len(b.directory.currentCatalog().Lists[methods.ListTools]) == tools })
}

func TestACallWithoutAServerConnectsToNothing(t *testing.T) {
	t.Parallel()
	quiet := fast
	quiet.Interval = time.Hour // no probe in between
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var servers []bridgeconfig.Server
			var counts []*atomic.Int32
			for i, name := range []string{"one", "two"} {
				s := echoServer(name)
				if name == "two" {
					rawTool(s, "only", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("it"), nil })
				}
				server, requests := counted(t, name, s, []string{"legacy", "modern"}[i])
				servers, counts = append(servers, server), append(counts, requests)
			}
			r := newRigOf(t, quiet, bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: servers})
			client := r.connect(t, clientEra, nil)
			connected(t, r.bridge)
			listed(t, r.bridge, 3)
			sum := func() string { return fmt.Sprint(counts[0].Load(), counts[1].Load()) }
			settled := sum()
			for _, in := range []map[string]any{{"tool": "echo"}, {"tool": "none"}, {"action": "schema", "tool": "only"}, {"action": "intent", "tool": "echo"}} {
				wished(t, client, in)
				if got := sum(); got != settled {
					t.Errorf("%v: requests at the servers %s, before %s", in, got, settled)
				}
			}
			first := counts[0].Load()
			if got := text(t, wished(t, client, map[string]any{"tool": "only"})); got != "it" {
				t.Errorf("the tool that one server has says %s", got)
			}
			if got := counts[0].Load(); got != first {
				t.Errorf("the server that does not have the tool was asked %d times", got-first)
			}
		})
	}
}

// TestWhatTheRouterTells asks for what only a connected server can say.
func TestWhatTheRouterTells(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	tool := &mcp.Tool{
		Name: "send_mail", Title: "Send", Description: "Sends a mail.",
		InputSchema: map[string]any{
			"type": "object", "required": []any{"to"},
			"properties": map[string]any{"to": map[string]any{"type": "string"}, "body": map[string]any{"type": "string"}},
		},
		OutputSchema: map[string]any{"type": "object"},
		Annotations:  &mcp.ToolAnnotations{Title: "Send it"},
	}
	s.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("sent"), nil })
	r := newRouter(t, served(t, "mail", s, "legacy"), served(t, "two", echoServer("two"), "modern"))
	client := r.connect(t, "legacy", nil)
	connected(t, r.bridge)
	for name, tt := range map[string]struct{ in, want map[string]any }{
		"a tool in full": {map[string]any{"action": "schema", "server": "mail", "tool": "send_mail"}, map[string]any{
			"server": "mail", "action": "schema", "tool": "send_mail", "title": "Send", "description": tool.Description,
			"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema, "annotations": map[string]any{"title": "Send it", "readOnlyHint": false, "idempotentHint": false},
		}},
		"a refresh": {map[string]any{"action": "refresh"}, map[string]any{
			"action": "refresh", "servers": []any{map[string]any{"server": "mail", "tools": 1.0}, map[string]any{"server": "two", "tools": 1.0}},
		}},
		"a tool that the server does not have": {map[string]any{"server": "mail", "tool": "echo"}, map[string]any{
			"error": "unknown_tool", "message": `server "mail" has no tool "echo"`, "available": []any{"send_mail"},
		}},
	} {
		result := wished(t, client, tt.in)
		if diff := cmp.Diff(tt.want, told(t, result)); diff != "" || result.IsError != (tt.want["error"] != nil) {
			t.Errorf("%s: isError %v, answer (-want +got):\n%s", name, result.IsError, diff)
		}
	}
}

func TestTheRoutersStatus(t *testing.T) {
	t.Parallel()
	r := newRouter(t, served(t, "one", echoServer("one"), "legacy"), bridgeconfig.Server{Name: "dead", URL: "http://127.0.0.1:1"})
	client := r.connect(t, "modern", nil)
	before := time.Now()
	wished(t, client, map[string]any{"tool": "echo", "params": map[string]any{"text": "hi"}})
	status := told(t, wished(t, client, map[string]any{"action": "status"}))
	servers, ok := status["servers"].([]any)
	if !ok || len(servers) != 2 || status["mode"] != "router" {
		t.Fatalf("status = %v", status)
	}
	one, gone := servers[0].(map[string]any), servers[1].(map[string]any)
	used, err := time.Parse(time.RFC3339Nano, fmt.Sprint(one["lastUsed"]))
	if err != nil || used.Before(before.Truncate(0)) || used.After(time.Now()) {
		t.Errorf("last used %v, %v", one["lastUsed"], err)
	}
	delete(one, "lastUsed")
	want := map[string]any{"name": "one", "transport": "streamable-http", "status": "connected", "tools": 1.0}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("status of one (-want +got):\n%s", diff)
	}
	if gone["status"] != "disconnected" || gone["tools"] != 0.0 || gone["lastUsed"] != nil || strings.Contains(fmt.Sprint(gone["error"]), "http://127.0.0.1:1") {
		t.Errorf("status of dead = %v", gone)
	}
}
