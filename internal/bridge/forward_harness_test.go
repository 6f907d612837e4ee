// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// script is a legacy server whose answers to what clients ask for are the
// test's.
type script struct {
	// annotations are those of the tool t.
	annotations string
	// version is that of the protocol, 2025-06-18 if empty.
	version string
	// answer answers the n-th request of a method, n from 1 on. It returns the
	// result, or writes something else and returns nothing.
	answer func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string
	// answered is told of the clients' answers to what the server asks, if it asks.
	answered func(m sentMessage)

	mu     sync.Mutex
	counts map[string]int
	seen   []sentMessage
}

// sentMessage is what the server is sent.
type sentMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	header http.Header
	body   []byte
}

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m sentMessage
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m.header, m.body = r.Header.Clone(), body
	s.mu.Lock()
	s.counts[m.Method]++
	n := s.counts[m.Method]
	s.seen = append(s.seen, m)
	s.mu.Unlock()
	var result string
	switch m.Method {
	case methods.Initialize:
		w.Header().Set("Mcp-Session-Id", "s")
		result = `{"protocolVersion":"` + cmp.Or(s.version, "2025-06-18") + `","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"script","version":"1"}}`
	case methods.Ping:
		result = `{}`
	case methods.ListTools:
		result = `{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":` + s.annotations + `}]}`
	case methods.ListPrompts:
		result = `{"prompts":[{"name":"p"}]}`
	case methods.ListResources:
		result = `{"resources":[{"uri":"x:y","name":"y"}]}`
	case methods.ListTemplates:
		result = `{"resourceTemplates":[]}`
	case methods.CallTool, methods.GetPrompt, methods.ReadResource:
		if result = s.answer(w, r, m, n); result == "" {
			return
		}
	case "":
		s.answered(m)
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// count returns how many requests of method there were.
func (s *script) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

// last returns the last message of method.
func (s *script) last(t *testing.T, method string) sentMessage {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.seen) {
		if m.Method == method {
			return m
		}
	}
	t.Fatalf("there was no %s", method)
	return sentMessage{}
}

// serve starts the server and returns its configuration, which the test may
// change.
func (s *script) serve(t *testing.T) bridgeconfig.Server {
	t.Helper()
	s.counts = map[string]int{}
	if s.annotations == "" {
		s.annotations = "{}"
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return bridgeconfig.Server{Name: "one", URL: server.URL}
}

// same answers every request alike.
func same(result string) func(http.ResponseWriter, *http.Request, sentMessage, int) string {
	return func(http.ResponseWriter, *http.Request, sentMessage, int) string { return result }
}

// failing fails a request as the network would, without a word.
func failing(http.ResponseWriter, *http.Request, sentMessage, int) string {
	panic(http.ErrAbortHandler)
}

// refusing answers with a status.
func refusing(status int) func(http.ResponseWriter, *http.Request, sentMessage, int) string {
	return func(w http.ResponseWriter, _ *http.Request, _ sentMessage, _ int) string {
		w.WriteHeader(status)
		return ""
	}
}

// ways are the modes in which the tool t of the server one is called: what is
// configured for a server holds in all of them.
var ways = map[string]struct {
	mode    bridgeconfig.Mode
	several bool
	params  func(arguments map[string]any) *mcp.CallToolParams
}{
	"direct, one server": {"", false, func(a map[string]any) *mcp.CallToolParams { return &mcp.CallToolParams{Name: "t", Arguments: a} }},
	"direct, several":    {"", true, func(a map[string]any) *mcp.CallToolParams { return &mcp.CallToolParams{Name: "one_t", Arguments: a} }},
	"router": {bridgeconfig.Router, true, func(a map[string]any) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "mcp", Arguments: map[string]any{"server": "one", "tool": "t", "params": a}}
	}},
}

// newWay starts a bridge before the server in one of the ways, which calls the
// server's tool by the returned function.
func newWay(t *testing.T, way, eraName string, server bridgeconfig.Server, o Options) (*rig, func(ctx context.Context, arguments map[string]any) (*mcp.CallToolResult, error)) {
	t.Helper()
	servers := []bridgeconfig.Server{server}
	if ways[way].several {
		other := serveMCP(t, echoServer("two"), "legacy")
		t.Cleanup(other.Close)
		servers = append(servers, bridgeconfig.Server{Name: "two", URL: other.URL})
	}
	r := newPolicyRig(t, o, bridgeconfig.Config{Mode: ways[way].mode, Servers: servers})
	awaitLists(t, r.bridge)
	client := r.connect(t, eraName, nil)
	return r, func(ctx context.Context, arguments map[string]any) (*mcp.CallToolResult, error) {
		return client.CallTool(ctx, ways[way].params(arguments))
	}
}

// awaitLists waits until all servers are connected, on which hints depend.
func awaitLists(t testing.TB, b *Bridge) {
	t.Helper()
	for _, u := range b.set.servers() {
		wait.Until(t, "the list of server "+u.Config.Name, func() bool { return len(u.Lists.Items(methods.ListTools)) > 0 })
	}
}

// newPolicyRig is newRig with more of the configuration and the options.
func newPolicyRig(t testing.TB, o Options, c bridgeconfig.Config) *rig {
	t.Helper()
	c.UserID, c.BridgeUID, c.Egress = "alice", "uid-1", bridgeconfig.Egress{Unrestricted: true}
	must.Succeed(t, c.Validate())
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.timing == nil {
		t0 := fast
		o.timing = &t0
	}
	return serveBridge(t, New(t.Context(), c, o))
}

// codeOf returns the bridge's code of an error, empty for none.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	rpc, ok := asRPC(err)
	if !ok {
		return ""
	}
	var data struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(rpc.Data, &data)
	return data.Code
}

func asRPC(err error) (*jsonrpc.Error, bool) { return errors.AsType[*jsonrpc.Error](err) }
