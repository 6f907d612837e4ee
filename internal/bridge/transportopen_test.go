// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// stays has the house serve only sessions, which a test can look at.
func (h *house) stays(change func(*session.Store)) *session.Store {
	s := session.NewStore(h.bridge.host())
	change(s)
	var handler http.Handler = s
	h.handler.Store(&handler)
	return s
}

const pingBody = `{"jsonrpc":"2.0","id":9,"method":"ping"}`

// TestTheQuietestSessionMakesRoom begins more sessions than there may be.
func TestTheQuietestSessionMakesRoom(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	s := h.stays(func(s *session.Store) { s.Limit = 3 })
	hears, first, second := h.session(t), h.session(t), h.session(t)
	h.events(t, "GET", "", hears)
	check := func(when string, header map[string]string, want bool) {
		t.Helper()
		if s.Holds(header["Mcp-Session-Id"]) != want {
			t.Errorf("%s: the session is there: %v, want %v", when, !want, want)
		}
	}
	third := h.session(t)
	check("one that listens", hears, true)
	check("the quietest", first, false)
	check("a later one", second, true)
	check("the newest", third, true)
	if resp, body := h.do(t, "POST", h.url, pingBody, first); resp.StatusCode != http.StatusOK {
		t.Errorf("a session that made room is answered with %d %s", resp.StatusCode, body)
	}
	check("the next quietest", second, false)
	check("the restored one", first, true)

	s.Limit = 1
	s.KeepBusy(third["Mcp-Session-Id"])
	s.KeepBusy(first["Mcp-Session-Id"])
	h.session(t)
	check("one that only listens", hears, false)
}

// TestASessionThatIsBusyMakesNoRoom has a call in progress.
func TestASessionThatIsBusyMakesNoRoom(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	h := newHouse(t, server)
	h.stays(func(s *session.Store) { s.Limit = 1 })
	other := h.session(t)
	busy := h.session(t)
	_, events := h.events(t, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}`, busy)
	next(t, began, "call")
	for name, header := range map[string]map[string]string{"another session": other, "a new session": nil} {
		if resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, header); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s is answered with %d, want that it may be tried again", name, resp.StatusCode)
		}
	}
	release()
	for range events { // Until the answer is there.
	}
	if resp, _ := h.do(t, "POST", h.url, pingBody, other); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards another session is answered with %d", resp.StatusCode)
	}
}

// TestWhoListensKeepsTheSession has one client listen and one do nothing.
func TestWhoListensKeepsTheSession(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 16)
	up := emptyServer(nil)
	rawTool(up, "t", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		go func() {
			_ = req.Session.Wait()
			ended <- struct{}{}
		}()
		return said("ok"), nil
	})
	upstream := serveMCP(t, up, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	s := h.stays(func(s *session.Store) { s.Timeout = 50 * time.Millisecond })
	listening, silent := h.session(t), h.session(t)
	h.events(t, "GET", "", listening)
	for range 2 {
		h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, silent)
		next(t, ended, "end of the session that is silent")
	}
	if !s.Holds(listening["Mcp-Session-Id"]) {
		t.Error("a session ended while its client listened")
	}
	h.front.CloseClientConnections()
	eventually(t, "end of the session whose client is gone", func() bool { return !s.Holds(listening["Mcp-Session-Id"]) })
}

// TestASessionThatIsEndedWhileItIsRestoredStaysEnded does both at once.
func TestASessionThatIsEndedWhileItIsRestoredStaysEnded(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL}, mcpserver.Server{Name: "two", URL: upstream.URL})
	var headers []map[string]string
	for range 60 {
		headers = append(headers, h.session(t))
	}
	h.move(t)
	for _, header := range headers {
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() { h.do(t, "POST", h.url, pingBody, header) })
		}
		wait.Go(func() {
			if resp, _ := h.do(t, "DELETE", h.url, "", header); resp.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE is answered with %d", resp.StatusCode)
			}
		})
		wait.Wait()
		if resp, _ := h.do(t, "POST", h.url, pingBody, header); resp.StatusCode != http.StatusNotFound {
			t.Fatalf("a session that ended is answered with %d", resp.StatusCode)
		}
	}
}

// TestASessionThatIsRestoredWhileTheBridgeClosesEnds opens one when Close has
// seen those that there are.
func TestASessionThatIsRestoredWhileTheBridgeClosesEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast)
	_, transport := mcp.NewInMemoryTransports()
	ss := must.Value(r.bridge.clients.server.Connect(t.Context(), transport, nil))(t)
	r.bridge.life.cancel()
	s := r.bridge.clients.open(ss, upstream.ClientIdentity{Info: message.Implementation})
	_ = ss.Wait()
	if !s.ended || r.bridge.clients.session(ss) != nil {
		t.Error("the bridge still has the session")
	}
}
