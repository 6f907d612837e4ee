// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// station is a bridge at an address that is known before the bridge is there.
type station struct {
	rig
	uid      string
	front    *httptest.Server
	handler  atomic.Pointer[http.Handler]
	requests atomic.Int64
}

func newStation(t *testing.T, uid string) *station {
	t.Helper()
	s := &station{uid: uid}
	s.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler := s.handler.Load()
		if handler == nil {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		(*handler).ServeHTTP(w, r)
	}))
	transport := &http.Transport{}
	s.url, s.http = s.front.URL+"/u/alice/mcp", &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.front.CloseClientConnections()
		if s.bridge != nil {
			s.bridge.Close()
		}
		s.front.Close()
	})
	return s
}

// open starts the bridge. Bridges that serve each other wait for each other's first lists as long as
// for any server, and then do without them.
func (s *station) open(t *testing.T, servers ...bridgeconfig.Server) {
	t.Helper()
	brief := fast
	brief.Wait, brief.List = 300*time.Millisecond, 300*time.Millisecond
	s.openWith(t, brief, servers...)
}

func (s *station) openWith(t *testing.T, t0 upstream.Timing, servers ...bridgeconfig.Server) {
	t.Helper()
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: s.uid, Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: servers}
	s.bridge = New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &t0})
	handler := s.bridge.Handler()
	s.handler.Store(&handler)
}

func (s *station) server(name string) bridgeconfig.Server {
	return bridgeconfig.Server{Name: name, URL: s.url}
}

// TestTwoBridgesThatServeEachOtherAreRefused has nothing behind two bridges but
// the other one.
func TestTwoBridgesThatServeEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			a, b := newStation(t, "uid-a"), newStation(t, "uid-b")
			a.open(t, b.server("b"))
			b.open(t, a.server("a"))
			client := a.connect(t, clientEra, nil)
			// Until they have heard of each other, they are not available.
			wait.Until(t, "the error says that there is a loop", func() bool {
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
				return err != nil && strings.Contains(err.Error(), "loop")
			})
			wait.Until(t, "the state says why", func() bool {
				return strings.Contains(a.bridge.Health().Servers["b"].Error, "loop")
			})
			before := a.requests.Load() + b.requests.Load()
			_, _ = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			if n := a.requests.Load() + b.requests.Load() - before; n > 200 {
				t.Errorf("one call made %d requests", n)
			}
		})
	}
}

// TestTwoBridgesMayKnowEachOther has each bridge a server of its own besides the
// other. The lists must not grow, and nothing may be asked in circles.
func TestTwoBridgesMayKnowEachOther(t *testing.T) {
	t.Parallel()
	x := serveMCP(t, echoServer("x"), "legacy")
	t.Cleanup(x.Close)
	y := serveMCP(t, echoServer("y"), "modern")
	t.Cleanup(y.Close)
	a, b := newStation(t, "uid-a"), newStation(t, "uid-b")
	a.open(t, b.server("b"), bridgeconfig.Server{Name: "x", URL: x.URL})
	b.open(t, a.server("a"), bridgeconfig.Server{Name: "y", URL: y.URL})
	for _, s := range []*station{a, b} {
		wait.Until(t, "healthy", func() bool { return s.bridge.Health().Status == health.Healthy })
	}
	for clientEra := range eraNames {
		client := a.connect(t, clientEra, nil)
		// A bridge whose own server is still starting when the other asks sends its list without
		// that server's tools, and a notification afterwards.
		wait.Until(t, "those of both bridges are listed once", func() bool {
			var names []string
			for _, tool := range must.Value(client.ListTools(t.Context(), nil))(t).Tools {
				names = append(names, tool.Name)
				if len(tool.Meta) > 0 {
					t.Errorf("tool %s has the metadata %v", tool.Name, tool.Meta)
				}
			}
			return strings.Join(names, " ") == "b_y_echo x_echo"
		})
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "b_y_echo", Arguments: echoArgs{"hi"}})
		if err != nil || text(t, result) != "y: hi" {
			t.Errorf("the other bridge's tool: %v, %v", result, err)
		}
	}
}

// TestBridgesBehindEachOther calls through chains of bridges.
func TestBridgesBehindEachOther(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	next := bridgeconfig.Server{Name: "one", URL: upstream.URL}
	var chain []*station
	for i := range message.MaxHops + 1 {
		s := newStation(t, fmt.Sprint("uid-", i))
		s.openWith(t, fast, next)
		next = s.server("one")
		chain = append(chain, s)
	}
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			result, err := chain[message.MaxHops-1].connect(t, clientEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}})
			if err != nil || text(t, result) != "one: hi" {
				t.Errorf("through %d bridges: %v, %v", message.MaxHops, result, err)
			}
			_, err = chain[message.MaxHops].connect(t, clientEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}})
			if err == nil || !strings.Contains(err.Error(), "no more than 5") {
				t.Errorf("through one more: %v, want that there are too many", err)
			}
		})
	}
}

func TestHopsAreChecked(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	own, other := token.BridgeID("uid-1"), token.BridgeID("uid-2")
	if own != r.bridge.hopID() {
		t.Fatalf("the bridge is %s, want %s", r.bridge.hopID(), own)
	}
	header := r.session(t)
	tests := map[string]struct{ hops, says string }{
		"none":                   {"", `"result"`},
		"another":                {other, `"result"`},
		"others":                 {other + "," + other, `"result"`},
		"others apart":           {other + ", " + other, `"result"`},
		"this one":               {own, "bridge_loop"},
		"this one among others":  {other + "," + own + "," + other, "bridge_loop"},
		"four others":            {strings.Repeat(other+",", 3) + other, `"result"`},
		"five others":            {strings.Repeat(other+",", 4) + other, "too_many_bridges"},
		"a thousand others":      {strings.Repeat(other+",", 999) + other, "too_many_bridges"},
		"what is no bridge":      {"you", "bridge_hops_invalid"},
		"this one in capitals":   {strings.ToUpper(own), "bridge_hops_invalid"},
		"a list that is cut off": {other + ",", "bridge_hops_invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{"tools/list", "tools/call"} {
				params := map[string]string{"tools/call": `"name":"echo","arguments":{"text":"x"},`}[method]
				modern := modernHeader(method, map[string]string{"tools/call": "echo"}[method])
				legacy := maps.Clone(header)
				if tt.hops != "" {
					modern[message.HeaderHops], legacy[message.HeaderHops] = tt.hops, tt.hops
				}
				_, body := r.do(t, "POST", r.url, modernBody(1, method, params), modern)
				_, other := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{}}}`, method, params), legacy)
				resp, _ := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
					map[string]string{message.HeaderHops: tt.hops})
				if id := resp.Header.Get(message.HeaderSessionID); (id == "") == strings.Contains(tt.says, "result") {
					t.Errorf("the answer to initialize names the session %q", id)
				}
				for _, answer := range []string{body, other} {
					if !strings.Contains(answer, tt.says) {
						t.Errorf("%s is answered with %s, want %s", method, answer, tt.says)
					}
				}
			}
		})
	}
}

// TestHopsWithoutHeaders come in the metadata.
func TestHopsWithoutHeaders(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	client := r.connectStdio(t, "legacy", nil)
	_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}, Meta: mcp.Meta{message.MetaHops: r.bridge.hopID()}})
	if err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("error = %v", err)
	}
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}, Meta: mcp.Meta{message.MetaHops: token.BridgeID("other")}})
	if err != nil || text(t, result) != "one: hi" {
		t.Errorf("result = %v, %v", result, err)
	}
}

// TestABridgeSeesNoThirdBridgesTools lists as a client and as a bridge.
func TestABridgeSeesNoThirdBridgesTools(t *testing.T) {
	t.Parallel()
	x := serveMCP(t, echoServer("x"), "legacy")
	t.Cleanup(x.Close)
	y := serveMCP(t, echoServer("y"), "modern")
	t.Cleanup(y.Close)
	a, b := newStation(t, "uid-a"), newStation(t, "uid-b")
	b.open(t, bridgeconfig.Server{Name: "y", URL: y.URL}, bridgeconfig.Server{Name: "z", URL: y.URL})
	wait.Until(t, "the bridge behind is healthy", func() bool { return b.bridge.Health().Status == health.Healthy })
	a.open(t, b.server("b"), bridgeconfig.Server{Name: "x", URL: x.URL})
	wait.Until(t, "healthy", func() bool { return a.bridge.Health().Status == health.Healthy })
	for hops, want := range map[string]string{"": "b_y_echo b_z_echo x_echo", token.BridgeID("other"): "x_echo"} {
		header := modernHeader(methods.ListTools, "")
		if hops != "" {
			header[message.HeaderHops] = hops
		}
		_, body := a.do(t, "POST", a.url, modernBody(1, methods.ListTools, ""), header)
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		must.Succeed(t, json.Unmarshal(answerOf(t, body)["result"], &list))
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("after the bridges %q the tools are %q, want %q", hops, got, want)
		}
	}
}
