// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sseURL is where the rig serves HTTP+SSE.
func (r *rig) sseURL() string { return strings.TrimSuffix(r.url, "/mcp") + "/sse" }

// connectSSE connects a client over HTTP+SSE, that asks for the version.
func (r *rig) connectSSE(t *testing.T, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: r.sseURL(), HTTPClient: r.http},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestClientsOfHTTPAndSSE(t *testing.T) {
	t.Parallel()
	q := newInquisitive(t)
	for name, version := range map[string]string{"the version of the transport": "2024-11-05", "a later one": "2025-11-25", "the newest, which falls back": ""} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fast, q.Server)
			client := r.connectSSE(t, version, asking("ann"))
			if got := client.InitializeResult().ProtocolVersion; version != "" && got != version || got >= message.FirstModernVersion {
				t.Errorf("negotiated %s", got)
			}
			if info := client.InitializeResult().ServerInfo; info.Name != "one" {
				t.Errorf("the client sees %+v, want the server itself", info)
			}
			result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "rounds"}))(t)
			if got := text(t, result); got != "ann on it; ann on it; ann on it, with 0 roots; ann on it" {
				t.Errorf("answer = %s", got)
			}
		})
	}
}

// TestAModernRequestHasNoPlaceInHTTPAndSSE sends one all the same.
func TestAModernRequestHasNoPlaceInHTTPAndSSE(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	client := r.connectSSE(t, "2024-11-05", nil)
	_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Meta: mcp.Meta{
		message.MetaProtocolVersion: "2026-07-28", message.MetaClientCaps: map[string]any{},
	}})
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeUnsupportedProtocolVersion {
		t.Errorf("error = %v", err)
	}
}

// TestAClientThatLeavesEndsItsCalls closes the connection of each kind while a
// tool works.
func TestAClientThatLeavesEndsItsCalls(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	began, ended := hangingTool(s)
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	for name, connect := range map[string]func(*testing.T, *rig) *mcp.ClientSession{
		"HTTP+SSE": func(t *testing.T, r *rig) *mcp.ClientSession { return r.connectSSE(t, "2024-11-05", nil) },
		"stdio":    func(t *testing.T, r *rig) *mcp.ClientSession { return r.connectStdio(t, "legacy", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
			client := connect(t, r)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = client.CallTool(ctx, &mcp.CallToolParams{Name: "hang"}) }()
			next(t, began, "call")
			if n := r.bridge.Drain(canceled(t)); n != 1 {
				t.Errorf("%d calls are in progress, want one", n)
			}
			go func() { _ = client.Close() }()
			cancel()
			next(t, ended, "end of the call")
			wait.Until(t, "nothing is in progress", func() bool { return r.bridge.Drain(canceled(t)) == 0 })
		})
	}
}

// canceled is a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// connectStdio connects a client of the era over a pair of pipes.
func (r *rig) connectStdio(t *testing.T, eraName string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	toBridge, fromClient := io.Pipe()
	toClient, fromBridge := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.bridge.ServeStdio(ctx, toBridge, fromBridge) }()
	t.Cleanup(func() {
		cancel()
		err := next(t, served, "end of serving")
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("serving ended with %v", err)
		}
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient},
		&mcp.ClientSessionOptions{ProtocolVersion: eraNames[eraName]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestClientsOverStdio do what they do over HTTP.
func TestClientsOverStdio(t *testing.T) {
	t.Parallel()
	q := newInquisitive(t)
	echo := serveMCP(t, echoServer("two"), "modern")
	t.Cleanup(echo.Close)
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			r := newRig(t, fast, q.Server, bridgeconfig.Server{Name: "two", URL: echo.URL})
			client := r.connectStdio(t, clientEra, asking("ann"))
			if got := client.InitializeResult().ProtocolVersion; got != eraNames[clientEra] {
				t.Errorf("negotiated %s", got)
			}
			tools, err := client.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 6 {
				t.Fatalf("tools = %+v, %v", tools, err)
			}
			for tool, want := range map[string]string{"one_rounds": "ann on it; ann on it; ann on it, with 0 roots; ann on it", "two_echo": "two: hi"} {
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: echoArgs{"hi"}}))(t)
				if got := text(t, result); got != want {
					t.Errorf("%s = %s, want %s", tool, got, want)
				}
			}
		})
	}
}

// TestArgumentHeadersOverStdio has a server want headers that such a client does
// not send.
func TestArgumentHeadersOverStdio(t *testing.T) {
	t.Parallel()
	expectZone(t, newZone(t).connectStdio)
}

// TestListChangesReachClientsOverEachConnection has a server change its list.
func TestListChangesReachClientsOverEachConnection(t *testing.T) {
	t.Parallel()
	connections := map[string]func(*testing.T, *rig, *mcp.ClientOptions) *mcp.ClientSession{
		"HTTP+SSE": func(t *testing.T, r *rig, o *mcp.ClientOptions) *mcp.ClientSession {
			return r.connectSSE(t, "2024-11-05", o)
		},
		"stdio, legacy": func(t *testing.T, r *rig, o *mcp.ClientOptions) *mcp.ClientSession {
			return r.connectStdio(t, "legacy", o)
		},
		"stdio, modern": func(t *testing.T, r *rig, o *mcp.ClientOptions) *mcp.ClientSession {
			return r.connectStdio(t, "modern", o)
		},
	}
	for name, connect := range connections {
		for _, servers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s and %d servers", name, servers), func(t *testing.T) {
				t.Parallel()
				s := echoServer("one")
				upstream := serveMCP(t, s, "legacy")
				t.Cleanup(upstream.Close)
				all := []bridgeconfig.Server{{Name: "one", URL: upstream.URL}, {Name: "two", URL: upstream.URL}}
				r := newRig(t, fast, all[:servers]...)
				changed := make(chan struct{}, 16)
				client := connect(t, r, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				})
				before := must.Value(client.ListTools(t.Context(), nil))(t)
				connected(t, r.bridge)
				rawTool(s, "second", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
				wait.Until(t, "the client hears of it and sees it", func() bool {
					next(t, changed, "list change")
					after, err := client.ListTools(t.Context(), nil)
					return err == nil && len(after.Tools) == len(before.Tools)+servers
				})
			})
		}
	}
}
