// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// sessionKeys are keys that all processes of a bridge have.
var sessionKeys = [][]byte{bytes.Repeat([]byte{1}, 32)}

// house is a rig whose bridge can be replaced by that of a new process.
type house struct {
	rig
	servers []bridgeconfig.Server
	front   *httptest.Server
	handler atomic.Pointer[http.Handler]
}

func newHouse(t *testing.T, servers ...bridgeconfig.Server) *house {
	t.Helper()
	h := &house{servers: servers}
	h.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*h.handler.Load()).ServeHTTP(w, r)
	}))
	// A connection that is kept may be one to the former process.
	transport := &http.Transport{DisableKeepAlives: true}
	h.url, h.http = h.front.URL+"/u/alice/mcp", &http.Client{Transport: transport}
	h.move(t)
	t.Cleanup(func() {
		h.front.CloseClientConnections()
		h.bridge.Close()
		h.front.Close()
	})
	return h
}

// move starts a new process in the place of the former one, of which only the
// keys remain.
func (h *house) move(t *testing.T) {
	t.Helper()
	before := h.bridge
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: h.servers}
	brief := fast
	h.bridge = New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &brief})
	h.bridge.UseSessionKeys(sessionKeys)
	handler := h.bridge.Handler()
	h.handler.Store(&handler)
	if before != nil {
		h.front.CloseClientConnections()
		before.Close()
	}
}

// TestASessionSurvivesARestart has a client do nothing but go on.
func TestASessionSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := questions[methods.Elicit](ctx, req.Session)
		if err != nil {
			return nil, err
		}
		roots, err := questions[methods.ListRoots](ctx, req.Session)
		return said("%v, %v, %s", answer, roots, req.Session.InitializeParams().ClientInfo.Name), err
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	for name, servers := range map[string][]bridgeconfig.Server{
		"with one server":     {{Name: "one", URL: upstream.URL}},
		"with several":        {{Name: "one", URL: upstream.URL}, {Name: "two", URL: upstream.URL}},
		"with one, and early": {{Name: "one", URL: upstream.URL}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, servers...)
			changed := make(chan struct{}, 16)
			opts := asking("ann")
			opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }
			client := h.connect(t, "legacy", opts)
			tool := map[bool]string{true: "ask", false: "one_ask"}[len(servers) == 1]
			id := client.ID()
			if !strings.HasSuffix(name, "early") {
				must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
			}
			for range 2 {
				h.move(t)
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
				if got := text(t, result); got != "ann on it, ann on it, with 0 roots, test-client" {
					t.Errorf("answer = %s", got)
				}
				next(t, changed, "word that the lists may have changed")
				if client.ID() != id {
					t.Errorf("the session is %s, was %s", client.ID(), id)
				}
			}
		})
	}
}

// TestASessionIsRestoredOnce sends many requests with the same id at once.
func TestASessionIsRestoredOnce(t *testing.T) {
	t.Parallel()
	sessions := make(chan string, 100)
	s := emptyServer(&mcp.ServerOptions{InitializedHandler: func(_ context.Context, req *mcp.InitializedRequest) {
		sessions <- req.Session.InitializeParams().ClientInfo.Name
	}})
	rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("ok"), nil })
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	header := h.session(t)
	h.move(t)
	for len(sessions) > 0 {
		<-sessions
	}
	var waiting sync.WaitGroup
	for i := range 20 {
		waiting.Go(func() {
			resp, body := h.do(t, "POST", h.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, i), header)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"ok"`) {
				t.Errorf("answer = %d %s", resp.StatusCode, body)
			}
		})
	}
	waiting.Wait()
	if count := len(h.bridge.clients.allSessions()); count != 1 {
		t.Errorf("the bridge has %d sessions, want one", count)
	}
	seen := map[string]int{}
	for len(sessions) > 0 {
		seen[<-sessions]++
	}
	if seen["raw"] != 1 {
		t.Errorf("the server saw sessions %v, want one of the client", seen)
	}
}

// TestASessionThatWasIdleGoesOn has sessions end that send nothing, at the server
// too, and a client come back.
func TestASessionThatWasIdleGoesOn(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 16)
	s := emptyServer(nil)
	rawTool(s, "t", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		go func() {
			_ = req.Session.Wait()
			ended <- struct{}{}
		}()
		return said("ok"), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	sessions := session.NewStore(h.bridge.host())
	sessions.Timeout = 20 * time.Millisecond
	var handler http.Handler = sessions
	h.handler.Store(&handler)
	header := h.session(t)
	for range 2 {
		if resp, body := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, header); resp.StatusCode != http.StatusOK {
			t.Fatalf("answer = %d %s", resp.StatusCode, body)
		}
		next(t, ended, "end of the idle session at the server")
	}
}

// hanging is a server whose tool does not answer until released.
func hanging(t *testing.T) (server bridgeconfig.Server, began chan struct{}, release func()) {
	t.Helper()
	s := emptyServer(nil)
	began, over := make(chan struct{}, 8), make(chan struct{})
	rawTool(s, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over:
		}
		return said("done"), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	return bridgeconfig.Server{Name: "one", URL: upstream.URL}, began, sync.OnceFunc(func() { close(over) })
}

// TestASessionThatIsRestoredWhileTheBridgeClosesEnds opens one when Close has
// seen those that there are.
func TestASessionThatIsRestoredWhileTheBridgeClosesEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast)
	host := r.bridge.host()
	host.Life = t.Context()
	var restored *session.Session
	host.Restored = func(s *session.Session, hops string) {
		restored = s
		r.bridge.clients.restored(s, hops)
	}
	id := must.Value(host.Signing.IssueID([]byte(`{"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), time.Now()))(t)
	r.bridge.life.cancel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, "Mcp-Session-Id": {id}}
	session.NewStore(host).ServeHTTP(httptest.NewRecorder(), request)
	_ = restored.Wait()
	if len(r.bridge.clients.allSessions()) > 0 {
		t.Error("the bridge still has the session")
	}
}
