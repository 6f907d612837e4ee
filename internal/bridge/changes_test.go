// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestListChangesReachTheClients(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		s := echoServer("one")
		r := start(s)
		changed := make(chan struct{}, 16)
		client := r.connect(t, clientEra, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		})
		must.Value(client.ListTools(t.Context(), nil))(t)
		connected(t, r.bridge)
		rawTool(s, "second", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
		next(t, changed, "list change")
		tools, err := client.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 {
			t.Errorf("tools = %+v, %v, want two", tools, err)
		}
	})
}

// TestAServerHearsOfRootsBeforeWhatFollows changes the roots again and again, and calls a tool that may ask for them.
func TestAServerHearsOfRootsBeforeWhatFollows(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(http.ResponseWriter, *http.Request, sentMessage, int) string { return done }}
	r := newRig(t, fast, s.serve(t))
	header := r.session(t)
	var want []string
	for n := range 50 {
		for _, m := range []string{`"method":"notifications/roots/list_changed","params":{"_meta":{"n":%d}}}`, `"id":7,"method":"tools/call","params":{"name":"t","_meta":{"n":%d}}}`} {
			r.do(t, "POST", r.url, `{"jsonrpc":"2.0",`+fmt.Sprintf(m, n), header)
		}
		want = append(want, fmt.Sprint(methods.RootsChanged, n), fmt.Sprint(methods.CallTool, n))
	}
	var got []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.seen {
		var params struct {
			Meta struct{ N *int } `json:"_meta"`
		}
		if json.Unmarshal(m.Params, &params) == nil && params.Meta.N != nil {
			got = append(got, fmt.Sprint(m.Method, *params.Meta.N))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the server had (-want +got):\n%s", diff)
	}
}

// connected waits until the bridge's shared connections are up, which a
// session's own connections do not need.
func connected(t *testing.T, b *Bridge) {
	t.Helper()
	for _, u := range b.set.servers() {
		must.Value(u.Shared(t.Context()))(t)
	}
}

func TestResourceUpdatesReachSubscribersOnly(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		subscribed := make(chan string, 16)
		s := emptyServer(&mcp.ServerOptions{
			SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
				subscribed <- req.Params.URI
				return nil
			},
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		})
		for _, uri := range []string{"test://a", "test://b"} {
			s.AddResource(&mcp.Resource{Name: uri, URI: uri}, nil)
		}
		r := start(s)
		updated := make(chan string, 16)
		opts := &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
		}
		client := r.connect(t, clientEra, opts)
		other := r.connect(t, clientEra, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
				t.Error("the other client was told too")
			},
		})
		must.Value(other.ListResources(t.Context(), nil))(t)
		must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
		if got := next(t, subscribed, "subscription at the server"); got != "test://a" {
			t.Errorf("subscribed %s", got)
		}
		// The server notes the subscription just after it told of it.
		wait.Until(t, "an update", func() bool {
			for _, uri := range []string{"test://b", "test://a"} {
				if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Error(err)
				}
			}
			return len(updated) > 0
		})
		if got := next(t, updated, "update"); got != "test://a" {
			t.Errorf("updated %s, want the one subscribed", got)
		}
	})
}

// TestSubscriptionsOutlastAChangeOfSecrets has a client do nothing but listen
// while its server's secret changes, goes and comes back.
func TestSubscriptionsOutlastAChangeOfSecrets(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				subscribed := make(chan struct{}, 64)
				s := emptyServer(&mcp.ServerOptions{
					SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error {
						subscribed <- struct{}{}
						return nil
					},
					UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
				})
				s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
				upstream := serveMCP(t, s, serverEra)
				t.Cleanup(upstream.Close)
				r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}})
				r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
				updated := make(chan string, 4096)
				client := r.connect(t, clientEra, &mcp.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
				})
				must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
				// A modern client does not wait for the answer, and there is none while
				// the server has no secret.
				next(t, subscribed, "subscription")
				r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
				connected(t, r.bridge)
				r.bridge.UseSecrets(secretsOf("r3"))
				r.bridge.UseSecrets(secretsOf("r4", "TOKEN", "third-token"))
				wait.Until(t, "an update", func() bool {
					if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://a"}); err != nil {
						t.Error(err)
					}
					return len(updated) > 0
				})
			})
		}
	}
}

func TestLogMessagesReachTheClientThatCalled(t *testing.T) {
	t.Parallel()
	build := func() *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, "log", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, level := range []mcp.LoggingLevel{"debug", "warning"} {
				if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Data: string(req.Params.Arguments)}); err != nil {
					return nil, err
				}
			}
			return said("ok"), nil
		})
		return s
	}
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		r := start(build())
		logged := make(chan *mcp.LoggingMessageParams, 16)
		client := r.connect(t, clientEra, &mcp.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) { logged <- req.Params },
		})
		params := &mcp.CallToolParams{Name: "log", Arguments: map[string]int{"x": 1}}
		if clientEra == "legacy" {
			must.Succeed(t, client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}))
		} else {
			params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: "info"}
		}
		must.Value(client.CallTool(t.Context(), params))(t)
		got := next(t, logged, "log message")
		if got.Level != "warning" || got.Data != `{"x":1}` {
			t.Errorf("message = %+v, want the warning alone", got)
		}
	})
}

func TestListChangesOfOneOfSeveralServers(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			one, two := echoServer("one"), echoServer("two")
			first, second := serveMCP(t, one, "legacy"), serveMCP(t, two, "modern")
			t.Cleanup(first.Close)
			t.Cleanup(second.Close)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: first.URL}, bridgeconfig.Server{Name: "two", URL: second.URL})
			changed := make(chan struct{}, 64)
			client := r.connect(t, clientEra, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			connected(t, r.bridge)
			for i, s := range []*mcp.Server{one, two} {
				rawTool(s, "more", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
				wait.Until(t, "the longer list", func() bool {
					next(t, changed, "list change")
					tools, err := client.ListTools(t.Context(), nil)
					if err != nil {
						t.Error(err)
						return true
					}
					return len(tools.Tools) == 3+i
				})
			}
		})
	}
}

// TestAServerThatChangesWheneverItIsListed is listed again once, and after that
// when the time has come.
func TestAServerThatChangesWheneverItIsListed(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		t.Run(fmt.Sprintf("with another server %v", several), func(t *testing.T) {
			t.Parallel()
			var lists atomic.Int32
			s := echoServer("one")
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == methods.ListTools {
						rawTool(s, fmt.Sprint("tool", lists.Add(1)), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("x"), nil })
					}
					return next(ctx, method, req)
				}
			})
			servers := []bridgeconfig.Server{served(t, "one", s, "legacy")}
			if several {
				servers = append(servers, newWitness(t, "two", "modern", nil).Server)
			}
			slow := fast
			slow.Interval, slow.Pace = time.Hour, time.Hour
			r := newRig(t, slow, servers...)
			connected(t, r.bridge)
			u := r.bridge.set.servers()[0]
			for _, kind := range []string{"lists", methods.ToolsChanged} {
				wait.Until(t, "a change too soon of "+kind, func() bool { return u.Changing.Pending(kind) })
			}
			if got := lists.Load(); got != 2 {
				t.Errorf("listed %d times, want at first and after the first change", got)
			}
		})
	}
}
