// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// eraNames are the two eras with the version that a client pins for each.
var eraNames = map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}

// fast has short intervals. Its limits are long.
var fast = upstream.Timing{
	Interval:   50 * time.Millisecond,
	Timeout:    wait.Limit,
	Connect:    wait.Limit,
	Silence:    wait.Limit,
	Wait:       wait.Limit,
	Start:      wait.Limit,
	List:       wait.Limit,
	Login:      wait.Limit,
	Grace:      wait.Limit,
	BackoffMin: 10 * time.Millisecond,
	BackoffMax: 50 * time.Millisecond,
}

// serveMCP serves s in one era and returns its URL.
func serveMCP(t *testing.T, s *mcp.Server, eraName string) *httptest.Server {
	t.Helper()
	return httptest.NewServer(mcpHandler(t, s, eraName))
}

// mcpHandler returns a handler of s that ends its sessions with the test, also
// those of which nobody said that they end.
func mcpHandler(t *testing.T, s *mcp.Server, eraName string) http.Handler {
	// A cancellation that overtakes its request cancels nothing. Such a request ends with the test.
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := egress.FollowContext(ctx, t.Context())
			defer cancel()
			return next(ctx, method, req)
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless:                    eraName == "modern",
		PropagateRequestCancellation: true,
	})
	var over atomic.Bool
	t.Cleanup(func() {
		over.Store(true)
		for ss := range s.Sessions() {
			_ = ss.Close()
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if over.Load() && r.Method != http.MethodDelete {
			http.Error(w, "the test is over", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// rig is a bridge with a server that serves it.
type rig struct {
	bridge *Bridge
	url    string
	http   *http.Client
}

// newRig starts a bridge before the given servers, by name.
func newRig(t *testing.T, t0 upstream.Timing, servers ...bridgeconfig.Server) *rig {
	t.Helper()
	return newLoggedRig(t, slog.New(slog.DiscardHandler), t0, servers...)
}

// newLoggedRig is newRig with a log to look into.
func newLoggedRig(t *testing.T, log *slog.Logger, t0 upstream.Timing, servers ...bridgeconfig.Server) *rig {
	t.Helper()
	return newLoggedRigOf(t, log, t0, bridgeconfig.Config{
		UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: servers,
	})
}

// newGuardedRig starts a bridge of any configuration.
func newGuardedRig(t *testing.T, c bridgeconfig.Config) *rig {
	t.Helper()
	return newLoggedRigOf(t, slog.New(slog.DiscardHandler), fast, c)
}

// newPipedRig starts a bridge before programs of this process, for clients over stdio. It opens no
// socket, so the test can have a clock of its own.
func newPipedRig(t *testing.T, t0 upstream.Timing, mode bridgeconfig.Mode, programs ...bridgeconfig.Server) *rig {
	t.Helper()
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Mode: mode, Servers: programs}
	b := New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &t0, runs: runMemory})
	t.Cleanup(b.Close)
	return &rig{bridge: b}
}

func newLoggedRigOf(t *testing.T, log *slog.Logger, t0 upstream.Timing, c bridgeconfig.Config) *rig {
	t.Helper()
	must.Succeed(t, c.Validate())
	return serveBridge(t, New(t.Context(), c, Options{Log: log, timing: &t0, runs: runMemory}))
}

// serveBridge serves b until the test ends.
func serveBridge(t testing.TB, b *Bridge) *rig {
	t.Helper()
	front := httptest.NewServer(b.Handler())
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		front.CloseClientConnections()
		b.Close()
		front.Close()
	})
	return &rig{bridge: b, url: front.URL + "/u/alice/mcp", http: &http.Client{Transport: transport}}
}

// connect connects a client of the era.
func (r *rig) connect(t *testing.T, eraName string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	session, err := client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.http},
		&mcp.ClientSessionOptions{ProtocolVersion: eraNames[eraName]})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != eraNames[eraName] {
		t.Fatalf("negotiated %s, want %s", got, eraNames[eraName])
	}
	return session
}

type echoArgs struct {
	Text string `json:"text"`
}

// echoServer is a server with one tool, echo.
func echoServer(name string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{Instructions: "say " + name})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "from " + name},
		func(_ context.Context, _ *mcp.CallToolRequest, a echoArgs) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + ": " + a.Text}}}, nil, nil
		})
	return s
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("content = %v, want one", r.Content)
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is a %T, want text", r.Content[0])
	}
	return c.Text
}
