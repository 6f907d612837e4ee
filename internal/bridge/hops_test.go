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

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
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

// open starts the bridge, whose waits are those of a person who tries.
func (s *station) open(t *testing.T, servers ...config.Server) {
	t.Helper()
	brief := fast
	brief.connect, brief.wait = 2*time.Second, time.Second
	s.openWith(t, brief, servers...)
}

func (s *station) openWith(t *testing.T, t0 timing, servers ...config.Server) {
	t.Helper()
	c := config.Config{UserID: "alice", BridgeUID: s.uid, Egress: config.Egress{Unrestricted: true}, Servers: servers}
	s.bridge = New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &t0})
	handler := s.bridge.Handler()
	s.handler.Store(&handler)
}

func (s *station) server(name string) config.Server { return config.Server{Name: name, URL: s.url} }

// TestTwoBridgesThatServeEachOtherAreRefused has nothing behind two bridges but
// the other one.
func TestTwoBridgesThatServeEachOtherAreRefused(t *testing.T) {
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			a, b := newStation(t, "uid-a"), newStation(t, "uid-b")
			a.open(t, b.server("b"))
			b.open(t, a.server("a"))
			client := a.connect(t, clientEra, nil)
			began := time.Now()
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			if err == nil || !strings.Contains(err.Error(), "loop") {
				t.Errorf("error = %v, want one that says that there is a loop", err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			eventually(t, "the state says why", func() bool {
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
	x := serveMCP(t, echoServer("x"), "legacy")
	t.Cleanup(x.Close)
	y := serveMCP(t, echoServer("y"), "modern")
	t.Cleanup(y.Close)
	a, b := newStation(t, "uid-a"), newStation(t, "uid-b")
	a.open(t, b.server("b"), config.Server{Name: "x", URL: x.URL})
	b.open(t, a.server("a"), config.Server{Name: "y", URL: y.URL})
	for _, s := range []*station{a, b} {
		eventually(t, "healthy", func() bool { return s.bridge.Health().Status == health.Healthy })
	}
	for clientEra := range eraNames {
		client := a.connect(t, clientEra, nil)
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "b_y_echo", Arguments: echoArgs{"hi"}})
		if err != nil || text(t, result) != "y: hi" {
			t.Errorf("the other bridge's tool: %v, %v", result, err)
		}
		tools, err := client.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
			if len(tool.Meta) > 0 {
				t.Errorf("tool %s has the metadata %v", tool.Name, tool.Meta)
			}
		}
		if got := strings.Join(names, " "); got != "b_y_echo x_echo" {
			t.Errorf("tools = %s, want those of both bridges once", got)
		}
	}
}

// TestBridgesBehindEachOther calls through chains of bridges.
func TestBridgesBehindEachOther(t *testing.T) {
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	next := config.Server{Name: "one", URL: upstream.URL}
	var chain []*station
	for i := range maxHops + 1 {
		s := newStation(t, fmt.Sprint("uid-", i))
		// Each waits for all behind it, which takes a while on a busy machine.
		s.openWith(t, fast, next)
		next = s.server("one")
		chain = append(chain, s)
	}
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			result, err := chain[maxHops-1].connect(t, clientEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}})
			if err != nil || text(t, result) != "one: hi" {
				t.Errorf("through %d bridges: %v, %v", maxHops, result, err)
			}
			_, err = chain[maxHops].connect(t, clientEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}})
			if err == nil || !strings.Contains(err.Error(), "no more than 5") {
				t.Errorf("through one more: %v, want that there are too many", err)
			}
		})
	}
}

func TestHopsAreChecked(t *testing.T) {
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, config.Server{Name: "one", URL: upstream.URL})
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
					modern[headerHops], legacy[headerHops] = tt.hops, tt.hops
				}
				_, body := r.do(t, "POST", r.url, modernBody(1, method, params), modern)
				_, other := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{}}}`, method, params), legacy)
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
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, config.Server{Name: "one", URL: upstream.URL})
	client := r.connectStdio(t, "legacy", nil)
	_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}, Meta: mcp.Meta{metaHops: r.bridge.hopID()}})
	if err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("error = %v", err)
	}
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"hi"}, Meta: mcp.Meta{metaHops: token.BridgeID("other")}})
	if err != nil || text(t, result) != "one: hi" {
		t.Errorf("result = %v, %v", result, err)
	}
}

func TestTheWayOfAnEntry(t *testing.T) {
	a, b := token.BridgeID("a"), token.BridgeID("b")
	tests := map[string]struct {
		entry, want string // want is the entry with the way b
		way         string
	}{
		"without metadata":         {`{"name":"x"}`, `{"_meta":{"hostedbridge.dev/hops":"` + b + `"},"name":"x"}`, ""},
		"with other metadata":      {`{"name":"x","_meta":{"k":1.50}}`, `{"_meta":{"hostedbridge.dev/hops":"` + b + `","k":1.50},"name":"x"}`, ""},
		"with a way":               {`{"_meta":{"hostedbridge.dev/hops":"` + a + `"},"name":"x"}`, `{"_meta":{"hostedbridge.dev/hops":"` + b + `"},"name":"x"}`, a},
		"with a way that is none":  {`{"_meta":{"hostedbridge.dev/hops":["x"]},"name":"x"}`, `{"_meta":{"hostedbridge.dev/hops":"` + b + `"},"name":"x"}`, ""},
		"with metadata of no kind": {`{"_meta":1,"name":"x"}`, `{"_meta":1,"name":"x"}`, ""},
		"that is no object":        {`7`, `7`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(wayOf(json.RawMessage(tt.entry)), ","); got != tt.way {
				t.Errorf("way = %s, want %s", got, tt.way)
			}
			if got := withWay(json.RawMessage(tt.entry), []string{b}); string(got) != tt.want {
				t.Errorf("entry = %s, want %s", got, tt.want)
			}
		})
	}
	if got := withWay(json.RawMessage(`{"_meta":{"hostedbridge.dev/hops":"`+a+`"},"name":"x"}`), nil); string(got) != `{"name":"x"}` {
		t.Errorf("without its way the entry is %s", got)
	}
}
