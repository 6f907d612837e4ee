// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver/health"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// idleTime is after which time the connections of these tests are idle.
const idleTime = time.Minute

// TestAnIdleConnectionEndsAndComesBack has nobody call for longer than the
// configuration allows.
func TestAnIdleConnectionEndsAndComesBack(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, two := newMemoryProgram(t, echoServer("one"), "legacy"), newMemoryProgram(t, echoServer("two"), "modern")
				p.Timeouts.Idle, two.Name = mcpserver.Duration(idleTime), "two"
				r := newPipedRig(t, upstream.DefaultTiming, mcpserver.Direct, p.Server, two.Server)
				client := r.connectStdio(t, clientEra, nil)
				must.Succeed(t, called(t, client, "one_echo"))
				time.Sleep(idleTime / 2)
				if r.bridge.set.servers()[0].Peek() == nil {
					t.Error("the connection ended too soon")
				}
				program, _ := p.last(t)
				_ = program.Wait()
				synctest.Wait()
				if r.bridge.set.servers()[0].Peek() != nil {
					t.Error("there is a connection")
				}
				if got := r.bridge.Health().Servers["one"]; got.Status != health.Healthy || got.Tools != 1 || got.Failures != 0 {
					t.Errorf("health = %+v, want what it was", got)
				}
				if got := toolNames(t, client); len(got) != 2 {
					t.Errorf("tools = %q, want both servers'", got)
				}
				if got := r.bridge.handshake.instructions(); got != "# one\n\nsay one\n\n# two\n\nsay two" {
					t.Errorf("instructions = %q, want both servers'", got)
				}
				if got := p.started(); got != 1 {
					t.Errorf("a list started the program: it was started %d times", got)
				}
				if err := called(t, client, "one_echo"); err != nil {
					t.Errorf("the next call: %v", err)
				}
				if got := p.started(); got != 2 {
					t.Errorf("after the next call the program was started %d times", got)
				}
			})
		})
	}
}

// TestAConnectionInUseIsNotIdle has a call and a subscription outlast the time.
func TestAConnectionInUseIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := emptyServer(&mcp.ServerOptions{
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		})
		s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
		release := make(chan struct{})
		rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return said("done"), nil
		})
		p := newMemoryProgram(t, s, "legacy")
		p.Timeouts.Idle = mcpserver.Duration(idleTime)
		r := newPipedRig(t, upstream.DefaultTiming, mcpserver.Direct, p.Server)
		client := r.connectStdio(t, "legacy", nil)
		answers := outcomeOf(t, client)
		time.Sleep(2 * idleTime)
		must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
		close(release)
		if got := next(t, answers, "answer"); got != "done" {
			t.Errorf("answer = %s", got)
		}
		if got := p.started(); got != 1 {
			t.Errorf("with a call the program was started %d times", got)
		}
		u := r.bridge.set.only()
		l := u.Peek()
		time.Sleep(2 * idleTime)
		if l == nil || u.Peek() != l {
			t.Error("the connection with a subscription ended")
		}
		must.Succeed(t, client.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}))
		time.Sleep(2 * idleTime)
		if u.Peek() != nil {
			t.Error("there is a connection")
		}
	})
}

// TestAServersOwnTimeToConnect has a server that answers no question. What needs
// no answer it takes: the SDK waits for that when it gives a connection up.
func TestAServersOwnTimeToConnect(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(body), `"method":"notifications/`) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hang) })
	patient := fast
	patient.Connect = time.Hour
	for _, kind := range []mcpserver.Transport{mcpserver.StreamableHTTP, mcpserver.SSE} {
		r := newRig(t, patient, mcpserver.Server{Name: "one", Transport: kind, URL: server.URL, Timeouts: mcpserver.Timeouts{Connect: mcpserver.Duration(100 * time.Millisecond)}})
		eventually(t, "a failure", func() bool { return r.bridge.Health().Servers["one"].Error == "the server did not answer in time" })
	}
}

func TestTheProtocolVersionOfTheConfiguration(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		era, version, agreed, says string
	}{
		"none at a modern server":         {"modern", "", "2026-07-28", ""},
		"an older one at a modern server": {"modern", "2025-06-18", "2025-06-18", ""},
		"an older one at a legacy server": {"legacy", "2025-03-26", "2025-03-26", ""},
		"a newer one than it speaks":      {"legacy", "2026-07-28", "", `the server speaks protocol version "2025-11-25" and not 2026-07-28`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newMemoryProgram(t, echoServer("one"), tt.era)
			p.ProtocolVersion = tt.version
			r := newRig(t, fast, p.Server)
			if tt.says != "" {
				eventually(t, "the reason", func() bool { return strings.Contains(r.bridge.Health().Servers["one"].Error, tt.says) })
				return
			}
			connected(t, r.bridge)
			if got := r.bridge.set.only().Peek().ProtocolVersion(); got != tt.agreed {
				t.Errorf("version %s, want %s", got, tt.agreed)
			}
		})
	}
}

func TestAServerIsNotListenedToWhereTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		var gets atomic.Int32
		inner := mcpHandler(t, echoServer("one"), "legacy")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				gets.Add(1)
			}
			inner.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		r := newRig(t, fast, mcpserver.Server{Name: "one", URL: server.URL, NoListening: silent})
		client := r.connect(t, "legacy", nil)
		must.Succeed(t, called(t, client, "echo"))
		if !silent {
			eventually(t, "a stream", func() bool { return gets.Load() > 0 })
			continue
		}
		if got := gets.Load(); got != 0 {
			t.Errorf("%d streams", got)
		}
	}
}
