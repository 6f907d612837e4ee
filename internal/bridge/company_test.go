// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// named connects a legacy client that says who it is and has a root.
func (r *rig) named(t *testing.T, name string, opts *mcp.ClientOptions, roots ...string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, opts)
	for _, root := range roots {
		client.AddRoots(&mcp.Root{URI: root})
	}
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.http},
		&mcp.ClientSessionOptions{ProtocolVersion: eraNames["legacy"]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestAProgramRunsOnceForAllClients(t *testing.T) {
	t.Parallel()
	for serverEra := range eraNames {
		t.Run(serverEra+" server", func(t *testing.T) {
			t.Parallel()
			p := newMemoryProgram(t, echoServer("one"), serverEra)
			r := newRig(t, fast, p.Server)
			var calling sync.WaitGroup
			for clientEra := range eraNames {
				for range 3 {
					client := r.connect(t, clientEra, nil)
					calling.Go(func() {
						for range 10 {
							if err := called(t, client, "echo"); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			calling.Wait()
			if got := p.started(); got != 1 {
				t.Errorf("started %d times, want once", got)
			}
		})
	}
}

// TestAProgramAsksTheClientThatCalled has two clients call in turn.
func TestAProgramAsksTheClientThatCalled(t *testing.T) {
	t.Parallel()
	for method, ask := range questions {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := emptyServer(nil)
			rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answer, err := ask(ctx, req.Session)
				return said("%v %v", answer, err), nil
			})
			p := newMemoryProgram(t, s, "legacy")
			r := newRig(t, fast, p.Server)
			clients := map[string]*mcp.ClientSession{}
			for _, name := range []string{"ann", "ben"} {
				clients[name] = r.named(t, name, asking(name), "file:///"+name)
			}
			for range 5 {
				for name, client := range clients {
					result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}))(t)
					want := name + " on it <nil>"
					if method == methods.ListRoots {
						want = "ann on it, with 1 roots <nil>"
					}
					if got := text(t, result); got != want {
						t.Errorf("answer = %s, want %s", got, want)
					}
				}
			}
		})
	}
}

// TestAProgramsQuestionGoesToNoOtherClient has calls of two clients be in flight
// when the program asks something for each. Once there is one call it asks again.
func TestAProgramsQuestionGoesToNoOtherClient(t *testing.T) {
	t.Parallel()
	can, cannot := asking, func(string) *mcp.ClientOptions {
		return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	}
	tests := map[string]struct {
		ann, ben *mcp.ClientOptions
		era      string
	}{
		"both can be asked":                     {can("ann"), can("ben"), "legacy"},
		"one cannot be asked":                   {can("ann"), cannot("ben"), "legacy"},
		"one is modern":                         {can("ann"), can("ben"), "modern"},
		"one is modern and cannot be asked":     {can("ann"), cannot("ben"), "modern"},
		"neither can be asked":                  {cannot("ann"), cannot("ben"), "legacy"},
		"one cannot be asked and one is modern": {cannot("ann"), can("ben"), "modern"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrossing(t)
			r := newRig(t, fast, newMemoryProgram(t, c.mcp, "legacy").Server)
			ann, ben := r.named(t, "ann", tt.ann), r.connect(t, tt.era, tt.ben)
			answers := make(chan string, 2)
			go func() { answers <- c.call(t, ann, "ann") }()
			next(t, c.began, "the first call")
			go func() { answers <- c.call(t, ben, "ben") }()
			next(t, c.began, "the second call")
			for _, who := range []string{"ann", "ben"} {
				c.ask[who] <- struct{}{}
				if got := next(t, c.told, "what the program is told"); !strings.Contains(got, "calls of several clients are in flight") {
					t.Errorf("while both call, the program is told %s of %s", got, who)
				}
			}
			close(c.ask["ben"])
			next(t, answers, "ben's answer")
			wait.Until(t, "ann's call alone", func() bool { return r.bridge.set.only().Peek().Calls.OnlyCall() != nil })
			c.ask["ann"] <- struct{}{}
			want := "ann on it <nil>"
			if tt.ann.ElicitationHandler == nil {
				want = `<nil> calling "elicitation/create": method "elicitation/create" is not supported`
			}
			if got := next(t, c.told, "what the program is told"); got != want {
				t.Errorf("alone, the program is told %s, want %s", got, want)
			}
			close(c.ask["ann"])
			next(t, answers, "ann's answer")
		})
	}
}

// TestAProgramAsksTheOneClientOfSeveralCalls has one client call twice at once.
func TestAProgramAsksTheOneClientOfSeveralCalls(t *testing.T) {
	t.Parallel()
	c := newCrossing(t)
	r := newRig(t, fast, newMemoryProgram(t, c.mcp, "legacy").Server)
	client := r.named(t, "ann", asking("ann"))
	answers := make(chan string, 2)
	for _, call := range []string{"ann", "ben"} {
		go func() { answers <- c.call(t, client, call) }()
		next(t, c.began, "a call")
	}
	for _, call := range []string{"ann", "ben"} {
		c.ask[call] <- struct{}{}
		if got := next(t, c.told, "what the program is told"); got != "ann on it <nil>" {
			t.Errorf("the program is told %s", got)
		}
		close(c.ask[call])
	}
	next(t, answers, "an answer")
	next(t, answers, "the other answer")
}

// crossing is a server whose calls ask when they are told to.
type crossing struct {
	mcp   *mcp.Server
	began chan struct{}
	told  chan string              // what the server was answered
	ask   map[string]chan struct{} // has a call ask, and end once it is closed
}

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	c := &crossing{
		mcp: emptyServer(nil), began: make(chan struct{}), told: make(chan string),
		ask: map[string]chan struct{}{"ann": make(chan struct{}), "ben": make(chan struct{})},
	}
	rawTool(c.mcp, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Who string }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		c.began <- struct{}{}
		for range c.ask[args.Who] {
			answer, err := questions[methods.Elicit](ctx, req.Session)
			c.told <- fmt.Sprintf("%v %v", answer, err)
		}
		return said("done"), nil
	})
	return c
}

// call calls the server and returns what it answered.
func (c *crossing) call(t *testing.T, client *mcp.ClientSession, who string) string {
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"who": who}})
	if err != nil {
		return err.Error()
	}
	return text(t, result)
}

func TestAProgramIsToldThatAClientCannotAnswer(t *testing.T) {
	t.Parallel()
	for method, ask := range questions {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := emptyServer(nil)
			rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := ask(ctx, req.Session)
				return said("%v", err), nil
			})
			r := newRig(t, fast, newMemoryProgram(t, s, "legacy").Server)
			client := r.named(t, "ann", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}))(t)
			if got := text(t, result); !strings.Contains(got, "method not found") && !strings.Contains(got, "is not supported") {
				t.Errorf("the program is told %s", got)
			}
		})
	}
}

// TestAProgramSeesNoRootsOutsideACall has the program ask while there are clients
// with roots, none of which called.
func TestAProgramSeesNoRootsOutsideACall(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 16)
	s := emptyServer(&mcp.ServerOptions{RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { told <- struct{}{} }})
	rawTool(s, "call", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("called"), nil })
	p := newMemoryProgram(t, s, "legacy")
	r := newRig(t, fast, p.Server)
	ann := mcp.NewClient(&mcp.Implementation{Name: "ann", Version: "1"}, nil)
	ann.AddRoots(&mcp.Root{URI: "file:///ann"})
	client, err := ann.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.http}, &mcp.ClientSessionOptions{ProtocolVersion: eraNames["legacy"]})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r.named(t, "ben", nil, "file:///ben")
	call := func() {
		t.Helper()
		must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call"}))(t)
	}
	call() // The session uses the program's connection from here on.
	ann.AddRoots(&mcp.Root{URI: "file:///more"})
	call()
	program, _ := p.last(t)
	if roots, err := program.ListRoots(t.Context(), nil); err != nil || roots.Roots == nil || len(roots.Roots) != 0 {
		t.Errorf("roots outside a call = %v, %v", roots, err)
	}
	if n := quietly(told); n > 0 {
		t.Errorf("the program was told %d times that roots changed", n)
	}
}

// TestSessionsShareASubscription counts what a program is asked for.
func TestSessionsShareASubscription(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	note := func(what, uri string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, what+" "+uri)
	}
	s := emptyServer(&mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
			note("on", req.Params.URI)
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, req *mcp.UnsubscribeRequest) error {
			note("off", req.Params.URI)
			return nil
		},
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "test://a"}, nil)
	p := newMemoryProgram(t, s, "legacy")
	r := newRig(t, fast, p.Server)
	updates := map[string]*atomic.Int32{}
	clients := map[string]*mcp.ClientSession{}
	for _, name := range []string{"ann", "ben", "cid"} {
		count := &atomic.Int32{}
		updates[name] = count
		clients[name] = r.named(t, name, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { count.Add(1) },
		})
	}
	modern := &atomic.Int32{}
	m := r.connect(t, "modern", &mcp.ClientOptions{
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { modern.Add(1) },
	})
	subscribe := func(names ...string) {
		t.Helper()
		for _, name := range names {
			must.Succeed(t, clients[name].Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
		}
	}
	subscribe("ann", "ben", "ann")
	must.Succeed(t, m.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
	update := func() {
		t.Helper()
		if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://a"}); err != nil {
			t.Error(err)
		}
	}
	wait.Until(t, "updates of all who subscribed", func() bool {
		update()
		return updates["ann"].Load() > 0 && updates["ben"].Load() > 0 && modern.Load() > 0
	})
	if got := updates["cid"].Load(); got != 0 {
		t.Errorf("who did not subscribe got %d updates", got)
	}
	must.Succeed(t, clients["ann"].Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}))
	before := updates["ben"].Load()
	wait.Until(t, "an update of who stays", func() bool {
		update()
		return updates["ben"].Load() > before
	})
	must.Succeed(t, m.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://a"}))
	must.Succeed(t, clients["ben"].Close())
	wait.Until(t, "the end of the subscription", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return cmp.Equal(asked, []string{"on test://a", "off test://a"})
	})
	if p.started() != 1 {
		t.Errorf("started %d times", p.started())
	}
}

// TestEachClientHearsItsOwnLevel has a program log what the most curious client
// wants to know.
func TestEachClientHearsItsOwnLevel(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	log := func(ctx context.Context, ss *mcp.ServerSession, what string) error {
		for _, level := range []mcp.LoggingLevel{"debug", "warning", "error"} {
			if err := ss.Log(ctx, &mcp.LoggingMessageParams{Level: level, Data: what}); err != nil {
				return err
			}
		}
		return nil
	}
	rawTool(s, "log", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("logged"), log(ctx, req.Session, "call")
	})
	p := newMemoryProgram(t, s, "legacy")
	r := newRig(t, fast, p.Server)
	heard := map[string]chan string{}
	clients := map[string]*mcp.ClientSession{}
	for name, level := range map[string]mcp.LoggingLevel{"ann": "debug", "ben": "error", "cid": ""} {
		messages := make(chan string, 64)
		heard[name] = messages
		clients[name] = r.named(t, name, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			messages <- fmt.Sprintf("%s %v", req.Params.Level, req.Params.Data)
		}})
		if level == "" {
			continue
		}
		must.Succeed(t, clients[name].SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: level}))
	}
	program, _ := p.last(t)
	must.Succeed(t, log(t.Context(), program, "unasked"))
	for _, want := range []string{"debug unasked", "warning unasked", "error unasked"} {
		if got := next(t, heard["ann"], "message"); got != want {
			t.Errorf("ann hears %s, want %s", got, want)
		}
	}
	if got := next(t, heard["ben"], "message"); got != "error unasked" {
		t.Errorf("ben hears %s", got)
	}
	must.Value(clients["ben"].CallTool(t.Context(), &mcp.CallToolParams{Name: "log"}))(t)
	if got := next(t, heard["ben"], "message"); got != "error call" {
		t.Errorf("ben hears %s", got)
	}
	if len(heard["ann"])+len(heard["ben"])+len(heard["cid"]) != 0 {
		t.Errorf("others hear of ben's call: %d, %d, %d", len(heard["ann"]), len(heard["ben"]), len(heard["cid"]))
	}
}

func TestListChangesOfAProgramReachEverySession(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		t.Run(fmt.Sprintf("with another server %v", several), func(t *testing.T) {
			t.Parallel()
			s := echoServer("one")
			servers := []bridgeconfig.Server{newMemoryProgram(t, s, "legacy").Server}
			if several {
				servers = append(servers, newWitness(t, "two", "modern", nil).Server)
			}
			r := newRig(t, fast, servers...)
			connected(t, r.bridge)
			var changes []chan struct{}
			for clientEra := range eraNames {
				for range 2 {
					opts, changed := changeCounter()
					client := r.connect(t, clientEra, opts)
					must.Value(client.ListTools(t.Context(), nil))(t)
					changes = append(changes, changed)
				}
			}
			rawTool(s, "more", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
			for _, changed := range changes {
				next(t, changed, "list change")
			}
		})
	}
}

// TestAServerHearsOfTheCallsThatEndWithTheBridge closes the bridge amid a call.
func TestAServerHearsOfTheCallsThatEndWithTheBridge(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			began, cancelled := make(chan struct{}), make(chan struct{}, 1)
			s := emptyServer(nil)
			rawTool(s, "t", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				began <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "notifications/cancelled" {
						select {
						case cancelled <- struct{}{}:
						default: // One is enough.
						}
					}
					return next(ctx, method, req)
				}
			})
			r := newRig(t, fast, serveOver(t, kind, s, "legacy"))
			answers := outcomeOf(t, r.connect(t, "legacy", nil))
			next(t, began, "the call")
			r.bridge.Close()
			next(t, cancelled, "the cancellation")
			next(t, answers, "the end of the call")
		})
	}
}
