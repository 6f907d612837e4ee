// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/toolrouter"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// fingerprint returns that of all tools of s, as another client sees them.
func fingerprint(t *testing.T, s *mcp.Server) string {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	must.Value(s.Connect(t.Context(), far, nil))(t)
	session := must.Value(mcp.NewClient(&mcp.Implementation{Name: "auditor", Version: "1"}, nil).Connect(t.Context(), near, nil))(t)
	defer func() { _ = session.Close() }()
	var raws [][]byte
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		raw := must.Value(json.Marshal(tool))(t)
		raws = append(raws, raw)
	}
	return must.Value(bridgeconfig.ToolsHash(raws))(t)
}

// otherHash is the fingerprint of no server's tools.
var otherHash = "sha256-" + strings.Repeat("0", 64)

// trail is what sessions asked of a server, in the order of each.
type trail struct {
	mu    sync.Mutex
	asked map[*mcp.ServerSession][]string
	calls atomic.Int32
}

// follow has the trail see all that s is asked.
func (l *trail) follow(s *mcp.Server) {
	l.asked = map[*mcp.ServerSession][]string{}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == methods.CallTool {
				l.calls.Add(1)
			}
			if ss, ok := req.GetSession().(*mcp.ServerSession); ok {
				l.mu.Lock()
				l.asked[ss] = append(l.asked[ss], method)
				l.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
}

// uncompared returns the sessions in which a tool was called before a list.
func (l *trail) uncompared() (found [][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, asked := range l.asked {
		called := slices.Index(asked, methods.CallTool)
		if called >= 0 && !slices.Contains(asked[:called], methods.ListTools) {
			found = append(found, asked)
		}
	}
	return found
}

// isOut reports whether the bridge says that the server has other tools.
func isOut(b *Bridge, server string) bool {
	h := b.Health().Servers[server]
	return h.Status == health.Unhealthy && h.Reason == health.ReasonToolsChanged && h.Tools == 0 &&
		strings.HasPrefix(h.Error, "its tools are not those that were audited: sha256-")
}

// TestTheFingerprintIsOfAllThatTheServerLists has pages, a filter and prefixes
// between the server's list and what clients see.
func TestTheFingerprintIsOfAllThatTheServerLists(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for _, others := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s client, %s server, %d others", clientEra, serverEra, others), func(t *testing.T) {
					t.Parallel()
					calls := make(chan string, 64)
					s := pagedServer(calls, "a", "b", "c", "d", "e")
					one := served(t, "one", s, serverEra)
					one.Tools, one.ToolsHash = bridgeconfig.Tools{Deny: []string{"b", "d"}}, fingerprint(t, s)
					servers, prefix := []bridgeconfig.Server{one}, ""
					if others > 0 {
						servers, prefix = append(servers, served(t, "two", emptyServer(nil), "legacy")), "one_"
					}
					checkFilter(t, newRig(t, fast, servers...).connect(t, clientEra, nil), prefix, []string{"a", "c", "e"}, calls)
				})
			}
		}
	}
}

// TestAServerWithOtherToolsIsOut tries all ways to a tool of a server that has
// other tools than were audited from the beginning.
func TestAServerWithOtherToolsIsOut(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for _, kind := range kinds {
			for _, setting := range []string{"alone", "with another", "router"} {
				t.Run(clientEra+" client, "+string(kind)+", "+setting, func(t *testing.T) {
					t.Parallel()
					var seen trail
					s := echoServer("one")
					seen.follow(s)
					one := serveOver(t, kind, s, "legacy")
					one.ToolsHash = otherHash
					c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: []bridgeconfig.Server{one}}
					if setting != "alone" {
						c.Servers = append(c.Servers, served(t, "two", echoServer("two"), "legacy"))
					}
					if setting == "router" {
						c.Mode = bridgeconfig.Router
					}
					r := newGuardedRig(t, c)
					checkOut(t, r, r.connect(t, clientEra, nil), setting)
					if n := seen.calls.Load(); n != 0 {
						t.Errorf("%d calls reached the server", n)
					}
					if h := r.bridge.Health().Servers["one"]; !strings.Contains(h.Error, otherHash+" expected, "+fingerprint(t, s)+" seen") {
						t.Errorf("error = %q, want both fingerprints", h.Error)
					}
				})
			}
		}
	}
}

// checkOut checks that server one has no tools and that the others go on.
func checkOut(t *testing.T, r *rig, client *mcp.ClientSession, setting string) {
	t.Helper()
	const says = "not those that were audited"
	switch setting {
	case "alone":
		if _, err := client.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("list: %v, want why there is none", err)
		}
		if err := called(t, client, "echo"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("call: %v, want why not", err)
		}
	case "with another":
		if got := toolNames(t, client); !slices.Equal(got, []string{"two_echo"}) {
			t.Errorf("tools = %q", got)
		}
		if err := called(t, client, "one_echo"); err == nil {
			t.Error("the tool was called")
		}
		if err := called(t, client, "two_echo"); err != nil {
			t.Errorf("the other server: %v", err)
		}
	case "router":
		for _, action := range []string{toolrouter.ActionCall, toolrouter.ActionSchema, toolrouter.ActionList, toolrouter.ActionRefresh} {
			arguments := map[string]any{"server": "one", "action": action, "tool": "echo"}
			result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: toolrouter.ToolName, Arguments: arguments})
			if err == nil && (!result.IsError || !strings.Contains(text(t, result), says)) || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, %v, want why not", action, result, err)
			}
		}
		if result := wished(t, client, map[string]any{"tool": "echo", "params": echoArgs{"hi"}}); text(t, result) != "two: hi" {
			t.Errorf("the other server: %s", text(t, result))
		}
	}
	wait.Until(t, "the state", func() bool { return isOut(r.bridge, "one") })
	if got := r.bridge.handshake.instructions(); strings.Contains(got, "say one") {
		t.Errorf("instructions = %q, of a server that is out", got)
	}
}

// TestDriftInMidSession adds a tool while a client is there, and takes it away.
func TestDriftInMidSession(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for _, kind := range kinds {
				if kind == bridgeconfig.SSE && serverEra == "modern" {
					continue // There is no such transport.
				}
				for _, others := range []int{0, 1} {
					t.Run(fmt.Sprintf("%s client, %s server over %s, %d others", clientEra, serverEra, kind, others), func(t *testing.T) {
						t.Parallel()
						s := echoServer("one")
						one := serveOver(t, kind, s, serverEra)
						one.ToolsHash = fingerprint(t, s)
						servers, tool := []bridgeconfig.Server{one}, "echo"
						if others > 0 {
							servers, tool = append(servers, served(t, "two", echoServer("two"), "legacy")), "one_echo"
						}
						drift(t, newRig(t, fast, servers...), clientEra, s, tool)
					})
				}
			}
		}
	}
}

func drift(t *testing.T, r *rig, clientEra string, s *mcp.Server, tool string) {
	t.Helper()
	changed := make(chan struct{}, 64)
	client := r.connect(t, clientEra, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	lists := func() bool {
		tools, err := client.ListTools(t.Context(), nil)
		return err == nil && slices.ContainsFunc(tools.Tools, func(shown *mcp.Tool) bool { return shown.Name == tool })
	}
	works := func() bool { return called(t, client, tool) == nil }
	if !lists() || !works() {
		t.Fatal("the tool is not there")
	}
	connected(t, r.bridge)
	rawTool(s, "late", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("late"), nil })
	next(t, changed, "change")
	wait.Until(t, "the state", func() bool { return isOut(r.bridge, "one") })
	if lists() || works() {
		t.Error("the tool is there")
	}
	if err := called(t, client, strings.Replace(tool, "echo", "late", 1)); err == nil {
		t.Error("the tool that nobody audited was called")
	}
	s.RemoveTools("late")
	wait.Until(t, "the tools are back", func() bool { return lists() && works() })
	wait.Until(t, "health", func() bool {
		h := r.bridge.Health().Servers["one"]
		return h.Status == health.Healthy && h.Reason == "" && h.Error == "" && h.Tools == 1
	})
}

// TestNothingIsCalledBeforeTheToolsWereCompared has connections of clients' own,
// on which the server could show other tools than to the bridge.
func TestNothingIsCalledBeforeTheToolsWereCompared(t *testing.T) {
	t.Parallel()
	rare := fast
	rare.Interval = time.Hour
	asks := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
	for clientEra := range eraNames {
		for _, lies := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s client, the server lies %t", clientEra, lies), func(t *testing.T) {
				t.Parallel()
				var seen trail
				s := echoServer("one")
				hash := fingerprint(t, s)
				seen.follow(s)
				s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						result, err := next(ctx, method, req)
						ss, ok := req.GetSession().(*mcp.ServerSession)
						// Only the bridge's own connection can be asked nothing.
						if list, isList := result.(*mcp.ListToolsResult); lies && ok && isList && ss.InitializeParams().Capabilities.Elicitation != nil {
							list.Tools[0].Description = "for this client alone"
						}
						return result, err
					}
				})
				one := served(t, "one", s, "legacy")
				one.ToolsHash = hash
				r := newRig(t, rare, one)
				client := r.connect(t, clientEra, asks)
				err := called(t, client, "echo")
				if !lies && (err != nil || seen.calls.Load() != 1) {
					t.Errorf("call: %v, and %d reached the server", err, seen.calls.Load())
				}
				if lies && (err == nil || !strings.Contains(err.Error(), "not those that were audited") || seen.calls.Load() != 0) {
					t.Errorf("call: %v, and %d reached the server", err, seen.calls.Load())
				}
				if found := seen.uncompared(); len(found) > 0 {
					t.Errorf("called before a list: %q", found)
				}
			})
		}
	}
}

// TestAToolThatIsNotListedIsNotCalled has a server with a tool that nobody could
// audit.
func TestAToolThatIsNotListedIsNotCalled(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		var seen trail
		s := echoServer("one")
		hash := fingerprint(t, s)
		seen.follow(s)
		rawTool(s, "secret", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("secret"), nil })
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				result, err := next(ctx, method, req)
				if list, ok := result.(*mcp.ListToolsResult); ok {
					list.Tools = slices.DeleteFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "secret" })
				}
				return result, err
			}
		})
		one := served(t, "one", s, "legacy")
		one.ToolsHash = hash
		client := newRig(t, fast, one).connect(t, clientEra, nil)
		if err := called(t, client, "echo"); err != nil {
			t.Errorf("%s client: %v", clientEra, err)
		}
		if err := called(t, client, "secret"); err == nil || !strings.Contains(err.Error(), `unknown tool "secret"`) || seen.calls.Load() != 1 {
			t.Errorf("%s client: %v, and %d calls reached the server", clientEra, err, seen.calls.Load())
		}
	}
}

// TestTheFingerprintIsComparedAfterAReload has the configuration name another
// one, with an answer that is still kept.
func TestTheFingerprintIsComparedAfterAReload(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			s := emptyServer(nil)
			s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("hi"), nil })
			one := served(t, "one", s, "legacy")
			one.CacheTTL = bridgeconfig.Duration(time.Hour)
			r := newRig(t, fast, one)
			client := r.connect(t, clientEra, nil)
			must.Succeed(t, called(t, client, "echo"))
			for _, hash := range []string{otherHash, fingerprint(t, s), otherHash, ""} {
				c := r.bridge.set.settings
				c.Servers = []bridgeconfig.Server{one}
				c.Servers[0].ToolsHash = hash
				must.Succeed(t, r.bridge.Reconfigure(c))
				if err := called(t, client, "echo"); (err == nil) != (hash != otherHash) {
					t.Errorf("with %q: %v", hash, err)
				}
				if hash == otherHash {
					wait.Until(t, "the state", func() bool { return isOut(r.bridge, "one") })
				}
			}
		})
	}
}

// TestTheFingerprintIsComparedAfterAReconnection puts another server at the
// address.
func TestTheFingerprintIsComparedAfterAReconnection(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var seen trail
			good, bad := echoServer("one"), echoServer("one")
			rawTool(bad, "late", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("late"), nil })
			seen.follow(bad)
			var current atomic.Pointer[http.Handler]
			use := func(h http.Handler) { current.Store(&h) }
			goodly, badly := mcpHandler(t, good, "legacy"), mcpHandler(t, bad, "legacy")
			use(goodly)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
			t.Cleanup(server.Close)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: server.URL, ToolsHash: fingerprint(t, good)})
			client := r.connect(t, clientEra, nil)
			must.Succeed(t, called(t, client, "echo"))
			use(badly) // which knows none of the sessions
			if err := called(t, client, "echo"); err == nil || seen.calls.Load() != 0 {
				// A call that the server does not know the session of is not carried out.
				t.Errorf("call: %v, and %d carried out", err, seen.calls.Load())
			}
			wait.Until(t, "the state", func() bool { return isOut(r.bridge, "one") })
			use(goodly)
			wait.Until(t, "the tools are back", func() bool { return called(t, client, "echo") == nil })
		})
	}
}
