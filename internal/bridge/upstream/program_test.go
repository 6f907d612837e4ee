// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
	"github.com/hostedbridge/hostedbridge/test/programs"
)

// owner is a bridge that does nothing but read changed lists.
type owner struct{}

func (owner) HandleRequest(_ context.Context, _ *Conn, method string, _ *message.Params) (mcp.Result, error) {
	return nil, fault.MethodNotFound(method)
}

func (owner) HandleNotification(l *Conn, _ string, _ *message.Params) { l.Upstream.ReadListsSoon() }

// program is a program of this process. late is set if its container is not there at first.
type program struct {
	server *mcp.Server
	late   bool
}

// start is a client.Dialer.
func (p *program) start(ctx context.Context) (client.Stream, error) {
	if p.late {
		p.late = false
		return nil, stdio.ErrNoShim
	}
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := p.server.Connect(context.WithoutCancel(ctx), theirs, nil); err != nil {
		return nil, err
	}
	return programs.Over(ours)(ctx)
}

// late describes a server whose container is not there at first.
const late = "late"

// run has a bridge connect to a server until the test ends: to handler over HTTP, or to a program that is s.
func run(t *testing.T, c bridgeconfig.Server, handler http.Handler, s *mcp.Server) *Server {
	t.Helper()
	return runProgram(t, c, handler, &program{s, c.Description == late})
}

func runProgram(t *testing.T, c bridgeconfig.Server, handler http.Handler, p *program) *Server {
	t.Helper()
	l := pipes.New()
	front := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	transport := &http.Transport{DialContext: l.Dial}
	ctx, cancel := context.WithCancel(context.Background())
	var running, closing sync.WaitGroup
	if p.server == nil {
		c.URL = "http://busy/mcp"
	} else {
		c.Name, c.Transport = "one", bridgeconfig.Stdio
		if c.Program == nil {
			c.Program = &bridgeconfig.Program{Command: []string{"one"}}
		}
	}
	u := New(ctx, c, Options{
		Timing: DefaultTiming, Network: transport, Log: slog.New(slog.DiscardHandler), Memory: budget.New(0, budget.Patience), Closing: &closing, Owner: owner{},
		Changed: func(*Server, string) {}, Resumed: func(*Server) {}, Observed: func() {}, Settled: func() {},
		Runs: func(*bridgeconfig.Program, stdio.Launch, *slog.Logger) client.Dialer { return p.start },
	})
	running.Go(func() { _ = front.Serve(l) })
	running.Go(func() { u.Connector.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		_ = front.Close()
		transport.CloseIdleConnections()
		running.Wait()
		closing.Wait()
	})
	return u
}

// legacy has s know no version of the protocol from 2026 on.
func legacy(s *mcp.Server) *mcp.Server {
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == methods.Discover {
				return nil, fault.MethodNotFound(method)
			}
			return next(ctx, method, req)
		}
	})
	return s
}

// newServer returns a server with the tool echo.
func newServer(o mcp.ServerOptions) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, &o)
	addTool(s, "echo", "")
	return s
}

func addTool(s *mcp.Server, name, description string) {
	s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
}

// TestAServerThatSaysTooMuchOfItselfIsOutOfService in words that say so, and not by the deadline of the connection.
func TestAServerThatSaysTooMuchOfItselfIsOutOfService(t *testing.T) {
	t.Parallel()
	for want, server := range map[string]func() *mcp.Server{
		"introduces itself with more than 1 MiB": func() *mcp.Server { return newServer(mcp.ServerOptions{Instructions: strings.Repeat("x", 2<<20)}) },
		"at most 5000 resources": func() *mcp.Server {
			s := newServer(mcp.ServerOptions{})
			for i := range MaxListed + 1 {
				s.AddResource(&mcp.Resource{Name: "r", URI: fmt.Sprintf("file:///%d", i)}, nil)
			}
			return s
		},
		"tools of 4 MiB in total": func() *mcp.Server {
			s := newServer(mcp.ServerOptions{})
			for i := range 50 {
				addTool(s, fmt.Sprint("t", i), strings.Repeat("x", 100<<10))
			}
			return s
		},
		"list of tools has no end: its cursor repeats": func() *mcp.Server {
			s := newServer(mcp.ServerOptions{})
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if list, ok := req.GetParams().(*mcp.ListToolsParams); ok {
						list.Cursor = "" // The first page again.
					}
					result, err := next(ctx, method, req)
					if page, ok := result.(*mcp.ListToolsResult); ok {
						page.NextCursor = "again"
					}
					return result, err
				}
			})
			return s
		},
	} {
		for _, kind := range []string{"HTTP, legacy", "HTTP, modern", "stdio, legacy"} {
			t.Run(want+", "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := server()
					if strings.HasSuffix(kind, "legacy") {
						legacy(s)
					}
					var handler http.Handler
					over := s
					if strings.HasPrefix(kind, "HTTP") {
						handler, over = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}), nil
					}
					u := run(t, bridgeconfig.Server{Name: "one"}, handler, over)
					synctest.Wait()
					if h := u.Availability.Report(); !strings.Contains(h.Error, want) || h.Failures != 1 || !strings.Contains(u.Availability.Notice(), want) {
						t.Errorf("health: %+v, and a model is told %q", h, u.Availability.Notice())
					}
				})
			})
		}
	}
}

func TestTheProtocolVersionOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		legacy                bool
		version, agreed, says string
	}{
		late:                              {false, "", "2026-07-28", ""},
		"none at a modern server":         {false, "", "2026-07-28", ""},
		"an older one at a modern server": {false, "2025-06-18", "2025-06-18", ""},
		"none at a legacy server":         {true, "", "2025-11-25", ""},
		"an older one at a legacy server": {true, "2025-03-26", "2025-03-26", ""},
		"a newer one than it speaks":      {true, "2026-07-28", "", `the server speaks protocol version "2025-11-25" and not 2026-07-28`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(mcp.ServerOptions{})
			if tt.legacy {
				legacy(s)
			}
			u := run(t, bridgeconfig.Server{ProtocolVersion: tt.version, Description: name}, nil, s)
			l, err := u.Shared(t.Context())
			switch {
			case tt.says != "":
				if err == nil || !strings.Contains(u.Availability.Report().Error, tt.says) {
					t.Errorf("%s: %v, health %+v", name, err, u.Availability.Report())
				}
			case err != nil || u.Connector.Version() != tt.version && !tt.legacy || l.ProtocolVersion() != tt.agreed || (l.Era == message.Modern) != (tt.agreed >= message.FirstModernVersion):
				t.Errorf("%s: %v with version %s", name, err, l.ProtocolVersion())
			}
		})
	}
}

// TestNobodyConnectsToAServerWithoutItsSecret: not even who began to connect before it was taken out of service.
func TestNobodyConnectsToAServerWithoutItsSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := func(values map[string][]byte) *secret.Set { return secret.NewSet("1", values, nil) }
		u := run(t, bridgeconfig.Server{Secrets: []string{"TOKEN"}, Program: &bridgeconfig.Program{Command: []string{"one", "${TOKEN}"}}}, nil, newServer(mcp.ServerOptions{}))
		for _, says := range []string{`server "one" is not available`, `server "one" is not available: secret TOKEN is not set`} {
			if _, err := u.Dial(t.Context(), ClientIdentity{Info: message.Implementation}, u.Owner); err == nil || err.Error() != says {
				t.Errorf("error = %v, want: %s", err, says)
			}
			u.UseSecrets(t.Context(), set(nil))
		}
		if h := u.Availability.Report(); h.Status != health.Unhealthy || h.Reason != health.ReasonSecretMissing || u.Connections() != 0 {
			t.Errorf("health = %+v with %d connections", h, u.Connections())
		}
		u.UseSecrets(t.Context(), set(map[string][]byte{"TOKEN": []byte("a-token")}))
		if h := u.Availability.Report(); h.Status != health.Connecting || h.Error != "" {
			t.Errorf("health = %+v, want connecting without an error", h)
		}
		l := must.Value(u.Shared(t.Context()))(t)
		if u.UseSecrets(t.Context(), set(map[string][]byte{"TOKEN": []byte("a-token")})); !l.Alive() {
			t.Error("an equal secret ends the connection")
		}
		u.UseSecrets(t.Context(), set(map[string][]byte{"TOKEN": []byte("another")}))
		if again := must.Value(u.Shared(t.Context()))(t); again == l {
			t.Error("the connection with the former secret is used")
		}
	})
}

// TestDriftInMidSession has a server list another tool, and take it away, and be replaced by one with another tool.
func TestDriftInMidSession(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(mcp.ServerOptions{Instructions: "say one"})
			if era == "legacy" {
				legacy(s)
			}
			unaudited := run(t, bridgeconfig.Server{}, nil, s)
			must.Value(unaudited.Shared(t.Context()))(t)
			echo, _ := unaudited.Lists.Find(methods.ListTools, "echo")
			p := &program{server: s}
			u := runProgram(t, bridgeconfig.Server{ToolsHash: must.Value(bridgeconfig.ToolsHash([][]byte{echo.Raw}))(t)}, nil, p)
			may := func(tool string) error {
				l, err := u.Shared(t.Context())
				if err != nil {
					return err
				}
				return l.Tools.MayCall(t.Context(), &message.Request{Method: methods.CallTool, Params: &mcp.CallToolParamsRaw{Name: tool}})
			}
			if err := may("late"); may("echo") != nil || err == nil || !strings.Contains(err.Error(), `unknown tool "late"`) {
				t.Errorf("before: %v, and of a tool that nobody audited %v", may("echo"), err)
			}
			addTool(s, "late", "")
			time.Sleep(2 * DefaultTiming.Pace)
			synctest.Wait()
			h := u.Availability.Report()
			if may("echo") == nil || h.Reason != health.ReasonToolsChanged || h.Tools != 0 || u.Lists.Instructions() != "" || !u.Lists.Items(methods.ListTools)[0].Hidden {
				t.Errorf("%s: with another tool it may be called: %v, health %+v, lists %v", era, may("echo"), h, u.Lists.Lists)
			}
			s.RemoveTools("late")
			time.Sleep(2 * DefaultTiming.Pace)
			synctest.Wait()
			if h := u.Availability.Report(); may("echo") != nil || h.Status != health.Healthy || h.Reason != "" || h.Error != "" || h.Tools != 1 || u.Lists.Instructions() != "say one" {
				t.Errorf("%s: again without: %v, health %+v", era, may("echo"), h)
			}
			other := newServer(mcp.ServerOptions{})
			addTool(other, "late", "")
			for _, now := range []*mcp.Server{other, s} { // The program is replaced.
				for ss := range p.server.Sessions() {
					p.server = now
					_ = ss.Close()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if err := may("echo"); (err == nil) != (now == s) || (u.Availability.Report().Reason == "") != (now == s) {
					t.Errorf("%s: with another program it may be called: %v", era, err)
				}
			}
		})
	}
}

// TestASecondSubscriberWaitsForTheFirst has two clients subscribe to a resource
// of which the server does not want to tell the first one, or nobody.
func TestASecondSubscriberWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]int{"nobody is refused": 0, "the first is refused": 1, "both are refused": 2} {
		synctest.Test(t, func(t *testing.T) {
			outcome := make(chan error, 3)
			s := legacy(newServer(mcp.ServerOptions{
				SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return <-outcome },
				UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			}))
			s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
			u := run(t, bridgeconfig.Server{}, nil, s)
			answers := []chan error{make(chan error, 1), make(chan error, 1)}
			for i, answer := range answers {
				go func() { answer <- u.Subscribe(t.Context(), "test://a") }()
				synctest.Wait()
				if got := u.Subscriptions.Subscribers("test://a"); got != i+1 || len(answer) > 0 {
					t.Errorf("%s: %d subscribers, and one of them is told before it is known", name, got)
				}
			}
			for range refused {
				outcome <- errors.New("refused")
				synctest.Wait()
			}
			if refused < 2 {
				outcome <- nil
			}
			for i, answer := range answers {
				if err := <-answer; (err != nil) != (refused > i) {
					t.Errorf("%s: subscriber %d is told %v", name, i, err)
				}
			}
			if got := u.Subscriptions.Watched(); got != (refused < 2) {
				t.Errorf("%s: subscribed: %v", name, got)
			}
		})
	}
}

// TestAConnectionInUseIsNotIdle has a call and a subscription outlast the time.
func TestAConnectionInUseIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := legacy(newServer(mcp.ServerOptions{
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		}))
		s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
		u := run(t, bridgeconfig.Server{Timeouts: bridgeconfig.Timeouts{Idle: bridgeconfig.Duration(time.Minute)}}, nil, s)
		l := must.Value(u.Shared(t.Context()))(t)
		end, _ := l.Calls.Begin(&inflight.Call{}, &mcp.CallToolParamsRaw{}, true)
		outlasts := func(what string, want bool) {
			t.Helper()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if (u.Peek() == l) != want {
				t.Errorf("with %s the connection is there: %v", what, !want)
			}
		}
		outlasts("a call", true)
		must.Succeed(t, u.Subscribe(t.Context(), "test://a"))
		end()
		outlasts("a subscription", true)
		must.Succeed(t, u.Unsubscribe(t.Context(), "test://a"))
		outlasts("nothing", false)
		if h := u.Availability.Report(); h.Status != health.Healthy || h.Tools != 1 || u.State(h.Status) != "idle" {
			t.Errorf("health = %+v, want what it was", h)
		}
		if again := must.Value(u.Shared(t.Context()))(t); again == l {
			t.Error("a connection that ended is used")
		}
	})
}

// caller is a client with a session.
type caller struct {
	message.Client
	name string
}

func (*caller) LogLevel() string { return "" }

// TestAProgramsMessageGoesToNoOtherClient: one that does not say of which call it is belongs to the newest call, if
// all calls are of one client.
func TestAProgramsMessageGoesToNoOtherClient(t *testing.T) {
	t.Parallel()
	ann, ben := &caller{name: "ann"}, &caller{name: "ben"}
	call := func(c message.Client) *inflight.Call { return &inflight.Call{Method: methods.CallTool, Client: c} }
	answered, list := call(ben), call(ben)
	answered.Delivery.SetResult(json.RawMessage(`{}`))
	list.Method = methods.ListTools
	for name, tt := range map[string]struct {
		calls   []*inflight.Call
		says    string // of which call the message is
		want    int    // the index of the call, -1 for none
		several bool
	}{
		"no call":                               {nil, "", -1, false},
		"one call":                              {[]*inflight.Call{call(ann)}, "", 0, false},
		"two calls of one client":               {[]*inflight.Call{call(ann), call(ann)}, "", 1, false},
		"of two clients":                        {[]*inflight.Call{call(ann), call(ben)}, "", -1, true},
		"of clients without a session":          {[]*inflight.Call{call(nil), call(nil)}, "", -1, true},
		"one without a session":                 {[]*inflight.Call{call(ann), call(nil)}, "", -1, true},
		"one that has its answer":               {[]*inflight.Call{call(ann), answered}, "", 0, false},
		"one whose server cannot ask":           {[]*inflight.Call{call(ann), list}, "", 0, false},
		"of two clients, with the call":         {[]*inflight.Call{call(ann), call(ben)}, "1", 0, false},
		"one that was ambiguous when it came":   {[]*inflight.Call{call(ann)}, inflight.SeveralExchanges, -1, true},
		"one that came while there was no call": {[]*inflight.Call{call(ann)}, inflight.NoExchange, -1, false},
	} {
		u := New(t.Context(), bridgeconfig.Server{Name: "one"}, Options{Log: slog.New(slog.DiscardHandler)})
		l := newConn(u, u.grant, nil, ClientIdentity{})
		for _, x := range tt.calls {
			end, _ := l.Calls.Begin(x, &mcp.CallToolParamsRaw{}, true)
			defer end()
		}
		got, several := l.Calls.Whose(&message.Params{Call: tt.says})
		if several != tt.several || (got == nil) != (tt.want < 0) || got != nil && got != tt.calls[tt.want] {
			t.Errorf("%s: the call is %+v, several %t", name, got, several)
		}
		u.grant.Cut(fault.ErrStale)
	}
}
