// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// authority is an authorization server that gives a new token each time.
func authority(t *testing.T) (server *httptest.Server, given *atomic.Int32) {
	t.Helper()
	given = &atomic.Int32{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := given.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"c4n4ry-access-%d","refresh_token":"c4n4ry-refresh-%d","token_type":"Bearer","expires_in":3600}`, n, n)
	}))
	t.Cleanup(server.Close)
	return server, given
}

// guardedServer is a server that wants a token and repeats it when it refuses.
type guardedServer struct {
	bridgeconfig.Server
	mu       sync.Mutex
	tokens   map[string]bool
	connects int
}

func newGuardedServer(t *testing.T, kind bridgeconfig.Transport) *guardedServer {
	t.Helper()
	g := &guardedServer{tokens: map[string]bool{}}
	s := emptyServer(nil)
	rawTool(s, "echo", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("ok"), nil })
	rawTool(s, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		data, err := json.Marshal(g.tokens)
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: -32001, Message: "bad token: " + string(data), Data: data}
	})
	inner := mcpHandler(t, s, "legacy")
	if kind == bridgeconfig.SSE {
		inner = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == methods.Initialize {
				g.mu.Lock()
				g.connects++
				g.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.tokens[r.Header.Get("Authorization")] = true
		g.mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	g.Server = bridgeconfig.Server{Name: "one", Transport: kind, URL: front.URL}
	return g
}

// seen returns how often the server was connected to and with which tokens.
func (g *guardedServer) seen() (connects int, tokens string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b, err := json.Marshal(g.tokens)
	if err != nil {
		return 0, err.Error()
	}
	return g.connects, string(b)
}

func TestAServerWithOAuthGetsItsToken(t *testing.T) {
	t.Parallel()
	for _, kind := range []bridgeconfig.Transport{bridgeconfig.StreamableHTTP, bridgeconfig.SSE} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			tokens, given := authority(t)
			g := newGuardedServer(t, kind)
			g.OAuth = &bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: tokens.URL, ClientID: "me", ClientSecret: "CLIENT"}
			g.Secrets = []string{"CLIENT"}
			log := &logtest.Log{}
			r := newLoggedRig(t, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), fast, g.Server)
			r.bridge.UseSecrets(secretsOf("r1"))
			if got := r.bridge.Health().Servers["one"]; got.Status != health.Unhealthy || got.Error != "secret CLIENT is not set" {
				t.Errorf("health = %+v", got)
			}
			r.bridge.UseSecrets(secretsOf("r2", "CLIENT", "c4n4ry-client"))
			for clientEra := range eraNames {
				client := r.connect(t, clientEra, nil)
				must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"}))(t)
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
				if err == nil || strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "[redacted]") {
					t.Errorf("error = %v, want one without the token", err)
				}
			}
			if _, got := g.seen(); got != `{"Bearer c4n4ry-access-1":true}` || given.Load() != 1 {
				t.Errorf("the server was sent %s, and %d tokens were given", got, given.Load())
			}
			r.bridge.Close()
			if strings.Contains(log.String(), "c4n4ry") {
				t.Errorf("log = %s", log)
			}
		})
	}
}

// TestARefreshedLoginConnectsNothingAnew gives back to the bridge, as the user's
// secrets, what it has stored, and then another login.
func TestARefreshedLoginConnectsNothingAnew(t *testing.T) {
	t.Parallel()
	tokens, given := authority(t)
	g := newGuardedServer(t, bridgeconfig.StreamableHTTP)
	g.OAuth = &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: tokens.URL, ClientID: "me", Token: "LOGIN"}
	g.Secrets = []string{"LOGIN"}
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: []bridgeconfig.Server{g.Server}}
	saved := make(chan string, 4)
	t0 := fast
	b := New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &t0, SaveSecret: func(_ context.Context, name string, value []byte) error {
		saved <- name + " " + string(value)
		return nil
	}})
	defer b.Close()
	b.UseSecrets(secretsOf("r1", "LOGIN", "c4n4ry-first"))
	connected(t, b)
	name, value, _ := strings.Cut(next(t, saved, "stored login"), " ")
	if name != "LOGIN" || !strings.Contains(value, "c4n4ry-refresh-1") {
		t.Fatalf("stored %s", name)
	}
	before, _ := g.seen()
	l := b.set.only().Peek()
	b.UseSecrets(secretsOf("r2", "LOGIN", value))
	connected(t, b)
	if after, _ := g.seen(); after != before || b.set.only().Peek() != l {
		t.Errorf("connected to %d times, and %d before", after, before)
	}
	if _, held := b.set.only().Granted().View.Lookup("LOGIN"); !held {
		t.Error("the secret is gone")
	}
	b.UseSecrets(secretsOf("r3", "LOGIN", "c4n4ry-second-login"))
	connected(t, b)
	wait.Until(t, "another connection", func() bool { return b.set.only().Peek() != l })
	wait.Until(t, "another token", func() bool {
		_, sent := g.seen()
		return strings.Contains(sent, "c4n4ry-access-2") && given.Load() == 2
	})
}

// TestAServerThatIsReplacedGoesOnWithItsLogin has the secrets say what they did
// at first: a refresh token that was used, and that nobody may show again.
func TestAServerThatIsReplacedGoesOnWithItsLogin(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]func(*bridgeconfig.Config){
		"by one with another timeout": {func(c *bridgeconfig.Config) { c.Servers[0].Timeouts.Connect = bridgeconfig.Duration(time.Minute) }},
		"by one of another name":      {func(c *bridgeconfig.Config) { c.Servers[0].Name = "two" }},
		"and removed before": {
			func(c *bridgeconfig.Config) { c.Servers = nil },
			func(c *bridgeconfig.Config) { c.Servers[0].Description = "again" },
		},
		"and joined by another with its login": {func(c *bridgeconfig.Config) {
			other := c.Servers[0]
			other.Name = "two"
			c.Servers = append(c.Servers, other)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens, given := authority(t)
			g := newGuardedServer(t, bridgeconfig.StreamableHTTP)
			g.OAuth = &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: tokens.URL, ClientID: "me", Token: "LOGIN"}
			g.Secrets = []string{"LOGIN"}
			r := newRig(t, fast, g.Server)
			r.bridge.UseSecrets(secretsOf("r1", "LOGIN", "c4n4ry-first"))
			connected(t, r.bridge)
			for _, change := range changes {
				before := r.bridge.set.servers()
				r.reconfigure(t, func(c *bridgeconfig.Config) {
					c.Servers = []bridgeconfig.Server{g.Server}
					change(c)
				})
				for _, u := range before {
					r.bridge.set.mu.Lock()
					l := r.bridge.set.lifecycles[u]
					r.bridge.set.mu.Unlock()
					if l != nil && l.over {
						<-l.idle
					}
				}
				connected(t, r.bridge)
			}
			r.bridge.UseSecrets(secretsOf("r2", "LOGIN", "c4n4ry-first"))
			connected(t, r.bridge)
			if _, sent := g.seen(); sent != `{"Bearer c4n4ry-access-1":true}` || given.Load() != 1 {
				t.Errorf("the server was sent %s, and %d tokens were given", sent, given.Load())
			}
		})
	}
}

// TestSecretsAreTakenOutOfErrorsAfterTheyWereReplaced has a call fail that began
// with other secrets than there are, and were wiped.
func TestSecretsAreTakenOutOfErrorsAfterTheyWereReplaced(t *testing.T) {
	t.Parallel()
	tokens, _ := authority(t)
	began, release := make(chan struct{}, 1), make(chan struct{})
	s := emptyServer(nil)
	rawTool(s, "late", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		return nil, &jsonrpc.Error{Code: -32001, Message: "bad: c4n4ry-key-1, c4n4ry-client-1, c4n4ry-nested-1, c4n4ry-access-1."}
	})
	front := httptest.NewServer(mcpHandler(t, s, "legacy"))
	defer func() {
		front.CloseClientConnections()
		front.Close()
	}()
	server := bridgeconfig.Server{
		Name: "one", URL: front.URL, Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${KEY}"}}, Secrets: []string{"CLIENT", "KEY", "NESTED"},
		OAuth: &bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: tokens.URL, ClientID: "me", ClientSecret: "CLIENT"},
	}
	r := newRig(t, fast, server)
	r.bridge.UseSecrets(secretsOf("r1", "KEY", "c4n4ry-key-1", "CLIENT", "c4n4ry-client-1", "NESTED", `{"access_token":"c4n4ry-nested-1"}`))
	client := r.connect(t, "legacy", nil)
	ended := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "late"})
		ended <- err
	}()
	<-began
	r.bridge.UseSecrets(secretsOf("r2", "KEY", "other-key", "CLIENT", "other-client", "NESTED", "other-nested"))
	close(release)
	if err := <-ended; err == nil || strings.Contains(err.Error(), "c4n4ry") || strings.Count(err.Error(), "[redacted]") != 4 {
		t.Errorf("error = %v", err)
	}
}
