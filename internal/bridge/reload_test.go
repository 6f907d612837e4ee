// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// reconfigure changes the configuration of the rig's bridge.
func (r *rig) reconfigure(t *testing.T, change func(*bridgeconfig.Config)) {
	t.Helper()
	r.bridge.set.mu.Lock()
	c := r.bridge.set.settings
	r.bridge.set.mu.Unlock()
	c.Servers = slices.Clone(c.Servers)
	change(&c)
	must.Succeed(t, r.bridge.Reconfigure(c))
}

func TestConfigurationsThatChangeNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*bridgeconfig.Config)
		fails  bool
	}{
		"another user":        {func(c *bridgeconfig.Config) { c.UserID = "bob" }, true},
		"another bridge":      {func(c *bridgeconfig.Config) { c.BridgeUID = "uid-2" }, true},
		"an unknown mode":     {func(c *bridgeconfig.Config) { c.Mode = "sideways" }, true},
		"a server twice":      {func(c *bridgeconfig.Config) { c.Servers = append(c.Servers, c.Servers[0]) }, true},
		"a server of nowhere": {func(c *bridgeconfig.Config) { c.Servers = []bridgeconfig.Server{{Name: "one"}} }, true},
		"the same again":      {func(*bridgeconfig.Config) {}, false},
		"empty lists for none": {func(c *bridgeconfig.Config) {
			c.Servers = slices.Clone(c.Servers)
			c.Servers[0].Secrets, c.Servers[0].Headers, c.Egress.Allow = []string{}, []bridgeconfig.Header{}, []string{}
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one := newMemoryProgram(t, echoServer("one"), "legacy")
				r := newPipedRig(t, fast, bridgeconfig.Direct, one.Server)
				opts, changed := changeCounter()
				client := r.connectStdio(t, "legacy", opts)
				must.Succeed(t, called(t, client, "echo"))
				quietly(changed)
				c, before := r.bridge.set.settings, r.bridge.set.servers()
				tt.change(&c)
				if err := r.bridge.Reconfigure(c); (err != nil) != tt.fails {
					t.Errorf("error = %v", err)
				}
				if !slices.Equal(before, r.bridge.set.servers()) {
					t.Error("a server was replaced")
				}
				if err := called(t, client, "echo"); err != nil {
					t.Error(err)
				}
				if got, heard := one.started(), quietly(changed); got != 1 || heard > 0 {
					t.Errorf("%d connections, and clients heard of %d changes", got, heard)
				}
			})
		})
	}
}

func TestAServerThatIsConfiguredAsBeforeKeepsItsConnections(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			one, two := newWitness(t, "one", "legacy", nil), newWitness(t, "two", "modern", nil)
			r := newRig(t, fast, one.Server, two.Server)
			client := r.connect(t, clientEra, nil)
			for _, tool := range []string{"one_echo", "two_echo"} {
				must.Succeed(t, called(t, client, tool))
			}
			connected(t, r.bridge)
			connects := one.connected()
			three := newWitness(t, "three", "modern", nil)
			r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers = []bridgeconfig.Server{three.Server, one.Server} })
			if diff := cmp.Diff([]string{"three_echo", "one_echo"}, toolNames(t, client)); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			for tool, works := range map[string]bool{"one_echo": true, "two_echo": false, "three_echo": true} {
				if err := called(t, client, tool); (err == nil) != works {
					t.Errorf("call of %s: %v", tool, err)
				}
			}
			if got := one.connected(); got != connects {
				t.Errorf("the server that stayed was connected to %d times more", got-connects)
			}
			wait.Until(t, "no connection to the removed server", func() bool { return sessionsOf(two.mcp) == 0 })
			if _, ok := r.bridge.Health().Servers["two"]; ok {
				t.Error("the removed server is in the report")
			}
		})
	}
}

func sessionsOf(s *mcp.Server) int {
	n := 0
	for range s.Sessions() {
		n++
	}
	return n
}

// TestACallInFlightOutlastsItsServer has a call be under way while its server is
// changed or removed. It is answered, and only then is the server let go.
func TestACallInFlightOutlastsItsServer(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for what, change := range map[string]func(*bridgeconfig.Config){
				"changed": func(c *bridgeconfig.Config) { c.Servers[0].Timeouts.Connect = bridgeconfig.Duration(time.Minute) },
				"removed": func(c *bridgeconfig.Config) { c.Servers = nil },
				"moved behind the router and changed": func(c *bridgeconfig.Config) {
					c.Mode, c.Servers[0].Description = bridgeconfig.Router, "new"
				},
			} {
				t.Run(clientEra+" client and "+serverEra+" server that is "+what, func(t *testing.T) {
					t.Parallel()
					began, release := make(chan struct{}, 4), make(chan struct{})
					s := emptyServer(nil)
					rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						began <- struct{}{}
						<-release
						return said("the answer"), nil
					})
					r := newRig(t, fast, served(t, "one", s, serverEra))
					client := r.connect(t, clientEra, nil)
					answer := outcomeOf(t, client)
					next(t, began, "call")
					old := r.bridge.set.servers()[0]
					r.reconfigure(t, change)
					if slices.Contains(r.bridge.set.servers(), old) {
						t.Error("the server was not replaced")
					}
					close(release)
					if got := next(t, answer, "answer"); got != "the answer" {
						t.Errorf("answer = %s", got)
					}
					wait.Until(t, "the end of the old server", func() bool {
						r.bridge.set.mu.Lock()
						defer r.bridge.set.mu.Unlock()
						return r.bridge.set.lifecycles[old] == nil
					})
				})
			}
		}
	}
}

func TestNoAnswerIsLostWhileServersAreReplaced(t *testing.T) {
	t.Parallel()
	one, two := served(t, "one", echoServer("one"), "legacy"), served(t, "two", echoServer("two"), "modern")
	r := newRig(t, fast, one, two)
	var calling sync.WaitGroup
	done := make(chan struct{})
	for _, clientEra := range []string{"legacy", "modern", "legacy", "modern"} {
		client := r.connect(t, clientEra, nil)
		calling.Go(func() {
			for !inflight.Closed(done) {
				for _, name := range []string{"one", "two"} {
					result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name + "_echo", Arguments: echoArgs{"hi"}})
					if err != nil {
						t.Errorf("%s client: %v", clientEra, err)
						return
					}
					if got := text(t, result); got != name+": hi" {
						t.Errorf("answer = %s", got)
					}
				}
			}
		})
	}
	for i := range 20 {
		r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers[i%2].Description = fmt.Sprint("change ", i) })
	}
	close(done)
	calling.Wait()
}

func TestClientsHearOnceOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for _, several := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s client, several servers: %v", clientEra, several), func(t *testing.T) {
				t.Parallel()
				servers := []bridgeconfig.Server{served(t, "one", fullServer("one", "a"), "legacy")}
				if several {
					servers = append(servers, served(t, "two", fullServer("two", "b"), "modern"))
				}
				r := newRig(t, fast, servers...)
				heard := make(chan string, 64)
				// The servers' first lists are announced before there is a client to hear of them.
				connected(t, r.bridge)
				quietly(heard)
				client := r.connect(t, clientEra, &mcp.ClientOptions{
					ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard <- "tools" },
					PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { heard <- "prompts" },
					ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "resources" },
				})
				must.Value(client.ListTools(t.Context(), nil))(t)
				drained := quietly(heard)
				r.reconfigure(t, func(c *bridgeconfig.Config) { c.ToolPrefix = bridgeconfig.PrefixAuto })
				got := []string{next(t, heard, "change"), next(t, heard, "change"), next(t, heard, "change")}
				slices.Sort(got)
				if diff := cmp.Diff([]string{"prompts", "resources", "tools"}, got); diff != "" {
					t.Errorf("heard after %d before (-want +got):\n%s", drained, diff)
				}
				if more := quietly(heard); more > 0 {
					t.Errorf("heard of %d changes more", more)
				}
			})
		}
	}
}

// quietly takes what comes until nothing does for longer than the SDK holds a
// notification back, and returns how much it was.
func quietly[T any](heard <-chan T) int {
	for n := 0; ; n++ {
		select {
		case <-heard:
		case <-time.After(150 * time.Millisecond):
			return n
		}
	}
}

// TestSessionsSurviveEveryShape takes one client through all the shapes that a
// bridge can have.
func TestSessionsSurviveEveryShape(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for _, beginning := range []string{"transparent", "several", "router"} {
			t.Run(clientEra+" client that begins with "+beginning, func(t *testing.T) {
				t.Parallel()
				one, two := served(t, "one", echoServer("one"), "legacy"), served(t, "two", echoServer("two"), "modern")
				shapes := map[string]bridgeconfig.Config{
					"transparent": {Servers: []bridgeconfig.Server{one}},
					"several":     {Servers: []bridgeconfig.Server{one, two}},
					"left out":    {Servers: []bridgeconfig.Server{one}, LeftOut: 1},
					"router":      {Mode: bridgeconfig.Router, Servers: []bridgeconfig.Server{one, two}},
					"none":        {},
				}
				tools := map[string][]string{
					"transparent": {"echo"}, "several": {"one_echo", "two_echo"}, "left out": {"one_echo"}, "router": {"mcp"}, "none": {},
				}
				r := newRigOf(t, fast, shapes[beginning])
				opts, changed := changeCounter()
				client := r.connect(t, clientEra, opts)
				id := client.ID()
				for _, shape := range []string{"several", "left out", "router", "transparent", "left out", "transparent", "router", "several", "transparent", "none", "transparent", "several"} {
					r.reconfigure(t, func(c *bridgeconfig.Config) {
						c.Mode, c.Servers, c.LeftOut = shapes[shape].Mode, shapes[shape].Servers, shapes[shape].LeftOut
					})
					if diff := cmp.Diff(tools[shape], toolNames(t, client)); diff != "" {
						t.Fatalf("%s: tools (-want +got):\n%s", shape, diff)
					}
					for _, tool := range tools[shape] {
						params := &mcp.CallToolParams{Name: tool, Arguments: echoArgs{"hi"}}
						if tool == "mcp" {
							params.Arguments = map[string]any{"server": "one", "tool": "echo", "params": echoArgs{"hi"}}
						}
						result, err := client.CallTool(t.Context(), params)
						if err != nil {
							t.Fatalf("%s: %v", shape, err)
						}
						if got := text(t, result); !strings.HasSuffix(got, ": hi") {
							t.Errorf("%s: answer = %s", shape, got)
						}
					}
				}
				if client.ID() != id {
					t.Error("the session is another one")
				}
				next(t, changed, "list change")
			})
		}
	}
}

// subscribable returns a server with a resource, what it is subscribed to, and
// what a client with the options hears of it.
func subscribable() (s *mcp.Server, count *atomic.Int32, opts *mcp.ClientOptions, updated chan string) {
	count, updated = &atomic.Int32{}, make(chan string, 4096)
	s = emptyServer(&mcp.ServerOptions{
		SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error {
			count.Add(1)
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error {
			count.Add(-1)
			return nil
		},
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
	return s, count, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
	}, updated
}

// updates waits until an update of s reaches the client.
func updates(t *testing.T, s *mcp.Server, updated chan string) {
	t.Helper()
	wait.Until(t, "an update", func() bool {
		if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://a"}); err != nil {
			t.Error(err)
		}
		return len(updated) > 0
	})
}

// replaced changes the first server and waits for the end of the former one.
func (r *rig) replaced(t *testing.T, change func(*bridgeconfig.Config)) {
	t.Helper()
	old := r.bridge.set.servers()[0]
	r.reconfigure(t, change)
	wait.Until(t, "the end of the old server", func() bool {
		r.bridge.set.mu.Lock()
		defer r.bridge.set.mu.Unlock()
		return r.bridge.set.lifecycles[old] == nil
	})
}

func TestSubscriptionsGoOnAtAServerThatWasChanged(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for _, before := range kinds {
				for _, after := range kinds {
					t.Run(fmt.Sprintf("%s client and %s server over %s and then %s", clientEra, serverEra, before, after), func(t *testing.T) {
						t.Parallel()
						s, _, opts, updated := subscribable()
						now := serveOver(t, before, s, serverEra)
						later := now
						if after != before {
							later = serveOver(t, after, s, serverEra)
						}
						later.Description = "new"
						r := newRig(t, fast, now, served(t, "two", emptyServer(nil), "legacy"))
						client := r.connect(t, clientEra, opts)
						must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
						r.replaced(t, func(c *bridgeconfig.Config) { c.Servers[0] = later })
						updates(t, s, updated)
						if clientEra == "legacy" { // Another one's ends with its stream.
							if err := client.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}); err != nil {
								t.Error(err)
							}
							if r.bridge.set.servers()[0].Subscriptions.Watched() {
								t.Error("the server is still subscribed to it")
							}
						}
						r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers = c.Servers[1:] })
						wait.Until(t, "no connection to the removed server", func() bool { return sessionsOf(s) == 0 })
					})
				}
			}
		}
	}
}

// TestACallAmidAReplacementLeavesNoConnection has a session use the new server
// before it is told that it took another one's place.
func TestACallAmidAReplacementLeavesNoConnection(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, subscriptions, opts, updated := subscribable()
			one := serveOver(t, kind, s, "legacy")
			two := one
			two.Name = "two"
			r := newRig(t, fast, one, two)
			client := r.connect(t, "legacy", opts)
			session, old, successor := r.bridge.clients.allSessions()[0], r.bridge.set.servers()[0], r.bridge.set.servers()[1]
			must.Succeed(t, session.subscribe(t.Context(), old, "test://a", true))
			l := must.Value(session.connect(t.Context(), successor))(t)
			session.transfer(old, successor)
			wait.Until(t, "the subscription", func() bool { return subscriptions.Load() == 2 })
			updates(t, s, updated)
			if now, err := session.connect(t.Context(), successor); err != nil || now != l {
				t.Errorf("the session has another connection than before: %v", err)
			}
			_ = client.Close()
			wait.Until(t, "no session", func() bool { return len(r.bridge.clients.allSessions()) == 0 })
			wait.Until(t, "the end of its connections", func() bool { return sessionsOf(s) == 2 })
		})
	}
}

// TestServersThatWereReplacedLeaveNothing counts what the bridge's context holds.
func TestServersThatWereReplacedLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast, served(t, "one", echoServer("one"), "legacy"))
	connected(t, r.bridge)
	old := r.bridge.set.only()
	r.replaced(t, func(c *bridgeconfig.Config) { c.Servers[0].Description = "new" })
	if old.Granted().Grace.Err() == nil {
		t.Error("the grant of a server that was replaced goes on")
	}
}

func TestANewServerGetsTheSecretsInUse(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"before", "after"} {
		t.Run("a change of the secrets "+revision, func(t *testing.T) {
			t.Parallel()
			one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
			r := newRig(t, fast)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
			want := "Bearer first-token"
			if revision == "before" {
				r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
				want = "Bearer second-token"
			}
			r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers = []bridgeconfig.Server{one.Server} })
			must.Succeed(t, called(t, r.connect(t, "modern", nil), "echo"))
			if diff := cmp.Diff([]string{want}, one.values()); diff != "" {
				t.Errorf("the server saw (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAToolIsKnownOnceTheSecretsThatItsServerWaitedForAreThere has the first
// attempt to connect end before there is a secret.
func TestAToolIsKnownOnceTheSecretsThatItsServerWaitedForAreThere(t *testing.T) {
	t.Parallel()
	one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	r := newRig(t, fast, one.Server, served(t, "two", echoServer("two"), "modern"))
	client := r.connect(t, "modern", nil)
	for i := range 10 {
		r.bridge.UseSecrets(secretsOf(fmt.Sprint("without", i)))
		must.Succeed(t, called(t, client, "two_echo"))
		r.bridge.UseSecrets(secretsOf(fmt.Sprint("with", i), "TOKEN", fmt.Sprint("token-", i)))
		if err := called(t, client, "one_echo"); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

func TestANewServerWithoutItsSecretIsOutOfServiceAtOnce(t *testing.T) {
	t.Parallel()
	one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	r := newRig(t, fast)
	r.bridge.UseSecrets(secretsOf("r1"))
	r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers = []bridgeconfig.Server{one.Server} })
	if got := r.bridge.Health().Servers["one"]; got.Status != health.Unhealthy || got.Error != "secret TOKEN is not set" {
		t.Errorf("health = %+v", got)
	}
}

func TestEgressHoldsForConnectionsMadeLater(t *testing.T) {
	t.Parallel()
	one := newWitness(t, "one", "modern", nil)
	r := newRig(t, fast, one.Server)
	client := r.connect(t, "modern", nil)
	must.Succeed(t, called(t, client, "echo"))
	r.reconfigure(t, func(c *bridgeconfig.Config) { c.Egress = bridgeconfig.Egress{} })
	wait.Until(t, "a refused connection", func() bool { return called(t, client, "echo") != nil })
	r.reconfigure(t, func(c *bridgeconfig.Config) {
		c.Egress = bridgeconfig.Egress{Allow: []string{"127.0.0.0/8", "::1/128"}}
	})
	wait.Until(t, "a call", func() bool { return called(t, client, "echo") == nil })
}

func TestReconfigureUseSecretsAndCloseAtOnce(t *testing.T) {
	t.Parallel()
	one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	two, three := served(t, "two", echoServer("two"), "modern"), served(t, "three", echoServer("three"), "legacy")
	r := newRig(t, fast, one.Server, two)
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "token"))
	for clientEra := range eraNames {
		must.Succeed(t, called(t, r.connect(t, clientEra, nil), "two_echo"))
	}
	shapes := [][]bridgeconfig.Server{{one.Server}, {two, one.Server}, {}, {one.Server, two, three}, {three}}
	var changing sync.WaitGroup
	for i := range 4 {
		changing.Go(func() {
			for j := range 20 {
				mode := []bridgeconfig.Mode{bridgeconfig.Direct, bridgeconfig.Router}[j%2]
				// It fails only once the bridge is closed.
				_ = r.bridge.Reconfigure(bridgeconfig.Config{
					UserID: "alice", BridgeUID: "uid-1", Mode: mode, Egress: bridgeconfig.Egress{Unrestricted: j%3 > 0},
					Servers: shapes[(i+j)%len(shapes)],
				})
			}
		})
	}
	changing.Go(func() {
		for j := range 40 {
			r.bridge.UseSecrets(secretsOf(fmt.Sprint("r", j), "TOKEN", fmt.Sprint("token-", j)))
		}
	})
	changing.Go(func() {
		for range 200 {
			r.bridge.Health()
		}
		r.bridge.Close()
	})
	changing.Wait()
	if err := r.bridge.Reconfigure(bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1"}); err == nil {
		t.Error("a closed bridge takes a configuration")
	}
}

// TestNewCallsGoToTheNewProgramAtOnce has a session's call keep the former
// program while the server is changed.
func TestNewCallsGoToTheNewProgramAtOnce(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	began, release := make(chan struct{}), make(chan struct{})
	rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		return said("done"), nil
	})
	rawTool(s, "run", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("%p", req.Session), nil
	})
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, fast, serveOver(t, kind, s, "legacy"))
			client := r.connect(t, "legacy", nil)
			run := func() string {
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "run"}))(t)
				return text(t, result)
			}
			before := run()
			answers := outcomeOf(t, client)
			next(t, began, "a call")
			r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers[0].Description = "new" })
			if run() == before {
				t.Error("a new call went to the server that was replaced")
			}
			release <- struct{}{}
			if got := next(t, answers, "answer"); got != "done" {
				t.Errorf("the call in flight: %s", got)
			}
		})
	}
}
