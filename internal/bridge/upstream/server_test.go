// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// TestAWishForAConnectionEndsWithIt has somebody need a server that is just being
// connected to, which must not have it connected to once more when it is idle.
func TestAWishForAConnectionEndsWithIt(t *testing.T) {
	s := bridgeconfig.Server{Name: "one", URL: "http://127.0.0.1:1"}
	u := New(t.Context(), s, Options{Network: &http.Transport{}, Timing: DefaultTiming, Log: slog.New(slog.DiscardHandler), Settled: func() {}, Observed: func() {}})
	t.Cleanup(func() { u.grant.Cut(fault.ErrStale) })
	u.Availability.observe(u.grant, time.Now(), 0, nil)
	first := -1
	for range 2 {
		u.Connector.look(&first)
		if len(u.Connector.kick) != 1 {
			t.Error("nobody is told that the server is needed")
		}
		l := newConn(u, u.grant, nil, ClientIdentity{})
		u.Connector.publish(l, false)
		if now := u.Connector.look(&first); now.link != l || len(u.Connector.kick) != 0 {
			t.Errorf("with a connection: %+v, and %d wishes", now, len(u.Connector.kick))
		}
		u.Connector.publish(nil, false)
		first = -1
	}
}

// TestAConnectionThatEndedIdleIsNoFailure has a request wait for a server, and miss every
// connection: on a busy machine one can be idle for long enough before the request runs.
func TestAConnectionThatEndedIdleIsNoFailure(t *testing.T) {
	s := bridgeconfig.Server{Name: "one", URL: "http://127.0.0.1:1"}
	u := New(t.Context(), s, Options{Network: &http.Transport{}, Timing: DefaultTiming, Log: slog.New(slog.DiscardHandler), Settled: func() {}, Observed: func() {}})
	t.Cleanup(func() { u.grant.Cut(fault.ErrStale) })
	u.Availability.observe(u.grant, time.Now(), 0, nil)
	first := -1
	u.Connector.look(&first)
	for range 3 {
		u.Connector.publish(newConn(u, u.grant, nil, ClientIdentity{}), false)
		u.Connector.publish(nil, false)
		if now := u.Connector.look(&first); now.failure != nil || len(u.Connector.kick) != 1 {
			t.Fatalf("failure = %v, and %d wishes for a connection", now.failure, len(u.Connector.kick))
		}
	}
	for range 2 {
		u.Connector.publish(nil, true)
	}
	if now := u.Connector.look(&first); now.failure == nil {
		t.Error("two failures do not end the wait")
	}
}

func TestAConnectionIsKeptWithoutATime(t *testing.T) {
	u := New(t.Context(), bridgeconfig.Server{Name: "one", URL: "http://127.0.0.1:1"}, Options{Network: &http.Transport{}, Timing: DefaultTiming, Log: slog.New(slog.DiscardHandler)})
	if u.Connector.IdleDeadline(&Conn{}) == nil {
		t.Error("a connection that was never used is ended")
	}
	if u.Timing.Connect != DefaultTiming.Connect {
		t.Error("the time to connect is not the bridge's")
	}
}

func TestAProgramThatIsInstalledFirstHasLongerToConnect(t *testing.T) {
	program := func(command ...string) bridgeconfig.Server {
		return bridgeconfig.Server{Name: "one", Program: &bridgeconfig.Program{Command: command}}
	}
	patient := program("npx", "-y", "server@1.0.0")
	patient.Timeouts.Connect = bridgeconfig.Duration(time.Hour)
	tests := map[string]struct {
		server  bridgeconfig.Server
		connect time.Duration
		silence time.Duration
	}{
		"a program that is there":            {program("node", "npx"), 15 * time.Second, 5 * time.Second},
		"one that npx installs":              {program("npx", "-y", "server@1.0.0"), 2 * time.Minute, 5 * time.Second},
		"one that uvx at its path installs":  {program("/usr/bin/uvx", "server@1.0.0"), 2 * time.Minute, 5 * time.Second},
		"one for which its user sets a time": {patient, time.Hour, 5 * time.Second},
		"a server at a URL":                  {bridgeconfig.Server{Name: "one", URL: "http://127.0.0.1:1"}, 15 * time.Second, 5 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := connectTimeout(tt.server, DefaultTiming.Connect)
			if got != tt.connect || DefaultTiming.silence(got) != tt.silence {
				t.Errorf("%s to connect and %s for the first answer, want %s and %s", got, DefaultTiming.silence(got), tt.connect, tt.silence)
			}
		})
	}
}

// TestAConnectionThatDiesAtOnceIsForgotten has the connection be lost before it
// is kept.
func TestAConnectionThatDiesAtOnceIsForgotten(t *testing.T) {
	u := New(t.Context(), bridgeconfig.Server{Name: "one"}, Options{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { u.grant.Cut(fault.ErrStale) })
	u.addConn(newConn(u, u.Granted(), nil, ClientIdentity{}))
	l := newConn(u, u.Granted(), nil, ClientIdentity{})
	close(l.Life.gone)
	u.removeConn(l)
	if !u.addConn(l) {
		t.Error("the connection counts as one of a former grant")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.links[l] || len(u.links) != 1 {
		t.Errorf("%d connections are kept, the dead one: %v", len(u.links), u.links[l])
	}
}

// TestASessionJoinsWhileItCalls has a call begin on a shared connection while its
// session, which is about to join it again, holds its lock.
func TestASessionJoinsWhileItCalls(t *testing.T) {
	s := &lockedClient{}
	u := New(t.Context(), bridgeconfig.Server{Name: "one"}, Options{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { u.grant.Cut(fault.ErrStale) })
	l := newConn(u, u.grant, nil, ClientIdentity{})
	l.Shared = true
	for range 100 {
		began := make(chan struct{})
		s.mu.Lock()
		go func() {
			end, _ := l.Calls.Begin(&inflight.Call{Client: s}, &mcp.CallToolParams{}, false)
			end()
			close(began)
		}()
		runtime.Gosched()
		joined := make(chan struct{})
		go func() {
			l.Audience.Join(s)
			close(joined)
		}()
		receive(t, joined, "the session on the connection")
		s.mu.Unlock()
		receive(t, began, "the call")
	}
}

func receive[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// lockedClient is a client that holds a lock while it is asked for its level.
type lockedClient struct {
	message.Client
	mu sync.Mutex
}

func (c *lockedClient) LogLevel() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ""
}
