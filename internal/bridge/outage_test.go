// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// mortal is a server that can go and come back at one address, which is its own: while it is gone,
// another test's server could take its port of 127.0.0.1.
type mortal struct {
	address string
	server  *http.Server
	build   func() http.Handler
}

func (m *mortal) rise(t *testing.T) {
	t.Helper()
	address := m.address
	if address == "" {
		address = fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	var listener net.Listener
	wait.Until(t, "the address is free", func() (done bool) {
		var err error
		listener, err = net.Listen("tcp", address)
		return err == nil
	})
	m.address = listener.Addr().String()
	server := &http.Server{Handler: m.build(), ReadHeaderTimeout: time.Minute}
	m.server = server
	go func() { _ = server.Serve(listener) }()
}

func (m *mortal) die() { _ = m.server.Close() }

func TestAServerThatWentAwayComesBack(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				m := &mortal{build: func() http.Handler { return mcpHandler(t, echoServer("one"), serverEra) }}
				m.rise(t)
				t.Cleanup(func() { m.die() })
				steady := serveMCP(t, echoServer("two"), "modern")
				t.Cleanup(steady.Close)
				brief := fast
				brief.Wait, brief.Interval = 300*time.Millisecond, 20*time.Millisecond
				r := newRig(t, brief, bridgeconfig.Server{Name: "one", URL: "http://" + m.address}, bridgeconfig.Server{Name: "two", URL: steady.URL})
				client := r.connect(t, clientEra, nil)
				call := func(tool string) error {
					_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: echoArgs{"hi"}})
					return err
				}
				wait.Until(t, "healthy at first", func() bool { return r.bridge.Health().Status == health.Healthy })
				must.Succeed(t, call("one_echo"))
				m.die()
				wait.Until(t, "unhealthy", func() bool { return r.bridge.Health().Servers["one"].Status == health.Unhealthy })
				var rpc *jsonrpc.Error
				if err := call("one_echo"); !errors.As(err, &rpc) || !strings.Contains(string(rpc.Data), "upstream") || strings.Contains(err.Error(), m.address) {
					t.Errorf("error = %v, want one that names the server and not its address", err)
				}
				if err := call("two_echo"); err != nil {
					t.Errorf("the other server suffers: %v", err)
				}
				if got := r.bridge.Health().Status; got != health.Degraded {
					t.Errorf("status = %s, want degraded", got)
				}
				m.rise(t)
				wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
				if err := call("one_echo"); err != nil {
					t.Errorf("after its return: %v", err)
				}
			})
		}
	}
}

// TestAForgetfulServerCostsNoCall has a server forget its sessions between calls,
// as one does that is restarted behind a proxy.
func TestAForgetfulServerCostsNoCall(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var current atomic.Pointer[http.Handler]
			restart := func() {
				h := mcpHandler(t, echoServer("one"), "legacy")
				current.Store(&h)
			}
			restart()
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
			t.Cleanup(upstream.Close)
			t.Cleanup(upstream.CloseClientConnections)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
			client := r.connect(t, clientEra, nil)
			for range 5 {
				must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}}))(t)
				restart()
			}
		})
	}
}

func TestABridgeStartsBeforeItsServer(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			m := &mortal{build: func() http.Handler { return mcpHandler(t, echoServer("one"), "legacy") }}
			m.rise(t)
			m.die()
			t.Cleanup(func() { m.die() })
			brief := fast
			brief.Wait = 50 * time.Millisecond
			r := newRig(t, brief, bridgeconfig.Server{Name: "one", URL: "http://" + m.address})
			client := r.connect(t, clientEra, nil)
			if _, err := client.ListTools(t.Context(), nil); err == nil {
				t.Error("a list without a server")
			}
			m.rise(t)
			wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
			tools, err := client.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 {
				t.Errorf("tools = %+v, %v", tools, err)
			}
		})
	}
}
