// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
	"github.com/hostedbridge/hostedbridge/test/programs"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// newBubbleRig starts a bridge before programs of this process, for clients over HTTP within a bubble.
func newBubbleRig(t *testing.T, c bridgeconfig.Config) *rig {
	t.Helper()
	c.UserID, c.BridgeUID, c.Egress = "alice", "uid-1", bridgeconfig.Egress{Unrestricted: true}
	must.Succeed(t, c.Validate())
	b := New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), runs: runMemory})
	l := pipes.New()
	front := &http.Server{Handler: b.Handler(), ReadHeaderTimeout: wait.Limit}
	served := make(chan error, 1)
	go func() { served <- front.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = front.Close()
		b.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &rig{bridge: b, url: "http://bridge/u/alice/mcp", http: &http.Client{Transport: transport}}
}

// slowProgram is an echo server that takes some time to start.
type slowProgram struct {
	name  string
	after time.Duration
	fails error // if set, it fails then
	// server is the program, an echo server if it is nil.
	server *mcp.Server
}

func (p *slowProgram) connect(stdio.Launch) client.Dialer { return programs.Over(p) }

// Connect implements mcp.Transport.
func (p *slowProgram) Connect(ctx context.Context) (mcp.Connection, error) {
	timer := time.NewTimer(p.after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.fails != nil {
		return nil, p.fails
	}
	ours, theirs := mcp.NewInMemoryTransports()
	server := p.server
	if server == nil {
		server = echoServer(p.name)
	}
	if _, err := server.Connect(context.WithoutCancel(ctx), theirs, nil); err != nil {
		return nil, err
	}
	return ours.Connect(ctx)
}

// slow is a server whose program takes some time to start.
func slow(t *testing.T, name string, after time.Duration) bridgeconfig.Server {
	t.Helper()
	s := programOf(t, &slowProgram{name: name, after: after})
	s.Name, s.Timeouts.Connect = name, bridgeconfig.Duration(10*time.Minute)
	return s
}

// echoOf are the parameters of a call of echo of the server in one of the ways of startWays.
func echoOf(way, server string) *mcp.CallToolParams {
	arguments := map[string]any{"text": "hi"}
	switch way {
	case "one server":
		return &mcp.CallToolParams{Name: "echo", Arguments: arguments}
	case "router":
		return &mcp.CallToolParams{Name: "mcp", Arguments: map[string]any{"server": server, "tool": "echo", "params": arguments}}
	}
	return &mcp.CallToolParams{Name: server + "_echo", Arguments: arguments}
}

// startWays are configurations of a server that takes a time to start.
var startWays = map[string]func(t *testing.T, after time.Duration) bridgeconfig.Config{
	"one server": func(t *testing.T, after time.Duration) bridgeconfig.Config {
		return bridgeconfig.Config{Servers: []bridgeconfig.Server{slow(t, "slow", after)}}
	},
	"several": func(t *testing.T, after time.Duration) bridgeconfig.Config {
		return bridgeconfig.Config{Servers: []bridgeconfig.Server{slow(t, "slow", after), slow(t, "fast", 0)}}
	},
	"router": func(t *testing.T, after time.Duration) bridgeconfig.Config {
		return bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: []bridgeconfig.Server{slow(t, "slow", after), slow(t, "fast", 0)}}
	},
}

// inStartWays runs a test in a bubble for each era and way.
func inStartWays(t *testing.T, test func(t *testing.T, era, way string)) {
	t.Helper()
	t.Parallel()
	for era := range eraNames {
		for way := range startWays {
			t.Run(era+", "+way, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, era, way) })
			})
		}
	}
}

// waiting returns how many requests wait for servers that start.
func (r *rig) waiting() int {
	starts := &r.bridge.set.starts
	starts.mu.Lock()
	defer starts.mu.Unlock()
	return starts.waits
}

func TestNoCallFailsBecauseItsProgramStarts(t *testing.T) {
	inStartWays(t, func(t *testing.T, era, way string) {
		r := newBubbleRig(t, startWays[way](t, 12*time.Second))
		client := r.connect(t, era, nil)
		result, err := client.CallTool(t.Context(), echoOf(way, "slow"))
		if err != nil || text(t, result) != "slow: hi" {
			t.Errorf("%v, %v", result, err)
		}
	})
}

func TestTheFirstListIsNotEmpty(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		for name, tt := range map[string]struct {
			servers []string
			want    []string
		}{
			"one server": {[]string{"a"}, []string{"echo"}},
			"several":    {[]string{"a", "b"}, []string{"a_echo", "b_echo"}},
		} {
			t.Run(era+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var c bridgeconfig.Config
					for _, server := range tt.servers {
						c.Servers = append(c.Servers, slow(t, server, 12*time.Second))
					}
					client := newBubbleRig(t, c).connect(t, era, nil)
					if diff := cmp.Diff(tt.want, toolNames(t, client)); diff != "" {
						t.Errorf("tools (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// TestOneSlowServerHoldsNeitherListsNorOtherCalls: lists have the others' tools after 5 s, and clients are
// told when there are more.
func TestOneSlowServerHoldsNeitherListsNorOtherCalls(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newBubbleRig(t, startWays["several"](t, 12*time.Second))
				changed := make(chan struct{}, 9)
				client := r.connect(t, era, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				})
				began := time.Now()
				result := must.Value(client.CallTool(t.Context(), echoOf("several", "fast")))(t)
				if text(t, result) != "fast: hi" || time.Since(began) > time.Second {
					t.Errorf("the call took %s", time.Since(began))
				}
				list := must.Value(client.ListTools(t.Context(), nil))(t)
				if len(list.Tools) != 1 || list.Tools[0].Name != "fast_echo" || time.Since(began) != upstream.DefaultTiming.List {
					t.Errorf("%d tools after %s", len(list.Tools), time.Since(began))
				}
				if list.TTLMs != 0 {
					t.Errorf("the list may be kept for %d ms", list.TTLMs)
				}
				for len(changed) > 0 {
					<-changed
				}
				<-changed
				if time.Since(began) > 13*time.Second {
					t.Errorf("the change is told after %s", time.Since(began))
				}
				if diff := cmp.Diff([]string{"slow_echo", "fast_echo"}, toolNames(t, client)); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAListThatFindsNothingInTimeIsEmptyAndAChangeFollows(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		for _, way := range []string{"one server", "two servers"} {
			t.Run(era+", "+way, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := bridgeconfig.Config{Servers: []bridgeconfig.Server{slow(t, "a", time.Minute)}}
					if way == "two servers" {
						c.Servers = append(c.Servers, slow(t, "b", time.Minute))
					}
					changed := make(chan struct{}, 9)
					client := newBubbleRig(t, c).connect(t, era, &mcp.ClientOptions{
						ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
					})
					began := time.Now()
					// From this moment on, the bridge's own tool says that several servers are still starting.
					own := func(name string) bool { return name == "bridge_status" }
					if names := slices.DeleteFunc(toolNames(t, client), own); len(names) != 0 || time.Since(began) != upstream.DefaultTiming.Start {
						t.Errorf("tools %v after %s", names, time.Since(began))
					}
					for names := []string(nil); len(names) != len(c.Servers); names = slices.DeleteFunc(toolNames(t, client), own) {
						<-changed
					}
				})
			})
		}
	}
}

func TestNoCallWaitsLongerThan25SecondsForAProgram(t *testing.T) {
	inStartWays(t, func(t *testing.T, era, way string) {
		r := newBubbleRig(t, startWays[way](t, 5*time.Minute))
		client := r.connect(t, era, nil)
		began := time.Now()
		_, err := client.CallTool(t.Context(), echoOf(way, "slow"))
		if took := time.Since(began); took != upstream.DefaultTiming.Start {
			t.Errorf("the call took %s", took)
		}
		want := `server "slow" is starting, 25 s so far: try again in 5 s`
		if way == "one server" {
			want = strings.Replace(want, "25", "35", 1) // The first request of the client has waited, too.
		}
		rpc, ok := asRPC(err)
		if !ok || rpc.Message != want || codeOf(t, err) != "upstream_unavailable" ||
			!strings.Contains(string(rpc.Data), `"retryAfterSeconds":5`) || !strings.Contains(string(rpc.Data), `"server":"slow"`) {
			t.Errorf("error %v", err)
		}
		if state := r.bridge.Health().Servers["slow"]; state.Status != health.Connecting || state.Error != "" {
			t.Errorf("health %+v", state)
		}
	})
}

func TestAClientThatCancelsWaitsNoLonger(t *testing.T) {
	inStartWays(t, func(t *testing.T, era, way string) {
		r := newBubbleRig(t, startWays[way](t, time.Minute))
		client := r.connect(t, era, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := client.CallTool(ctx, echoOf(way, "slow"))
			done <- err
		}()
		synctest.Wait()
		if n := r.waiting(); n != 1 {
			t.Fatalf("%d calls wait", n)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if n := r.waiting(); n != 0 {
			t.Errorf("%d calls wait after the client has cancelled", n)
		}
	})
}

func TestAProgramThatEndsAtOnceIsNotWaitedFor(t *testing.T) {
	inStartWays(t, func(t *testing.T, era, way string) {
		c := startWays[way](t, 0)
		failing := programOf(t, &slowProgram{fails: errors.New("the program ended with exit code 7")})
		failing.Name = "slow"
		c.Servers[0] = failing
		began := time.Now()
		client := newBubbleRig(t, c).connect(t, era, nil)
		_, err := client.CallTool(t.Context(), echoOf(way, "slow"))
		rpc, ok := asRPC(err)
		if !ok || !strings.HasPrefix(rpc.Message, `server "slow" is not available: `) || !strings.HasSuffix(rpc.Message, "the program ended with exit code 7") || time.Since(began) > 3*time.Second {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
	})
}

// TestAPendingServerIsWaitedForUntilItsConfigurationSaysThatItIsThere has a program that is
// installed first.
func TestAPendingServerIsWaitedForUntilItsConfigurationSaysThatItIsThere(t *testing.T) {
	inStartWays(t, func(t *testing.T, era, way string) {
		c := startWays[way](t, time.Second)
		ready := c.Servers[0]
		c.Servers[0].Pending = &bridgeconfig.Pending{Reason: "the package is being installed for the first time", Since: time.Now().Add(-4 * time.Second)}
		r := newBubbleRig(t, c)
		state := r.bridge.Health().Servers["slow"]
		if state.Status != health.Connecting || state.Reason != health.ReasonNotReady ||
			state.Error != c.Servers[0].Pending.Reason || !state.Since.Equal(c.Servers[0].Pending.Since) {
			t.Errorf("health %+v", state)
		}
		client := r.connect(t, era, nil)
		_, err := client.CallTool(t.Context(), echoOf(way, "slow"))
		want := `server "slow" is not ready: the package is being installed for the first time, 29 s so far: try again in 5 s`
		if way == "one server" {
			want = strings.Replace(want, "29", "39", 1) // The first request of the client has waited, too.
		}
		if rpc, ok := asRPC(err); !ok || rpc.Message != want {
			t.Errorf("error %v", err)
		}
		done := make(chan string, 1)
		go func() {
			result, err := client.CallTool(t.Context(), echoOf(way, "slow"))
			if err != nil {
				done <- err.Error()
				return
			}
			done <- text(t, result)
		}()
		synctest.Wait()
		began := time.Now()
		r.reconfigure(t, func(c *bridgeconfig.Config) { c.Servers = append([]bridgeconfig.Server{ready}, c.Servers[1:]...) })
		if said := <-done; said != "slow: hi" || time.Since(began) > 2*time.Second {
			t.Errorf("the call is answered %q after %s", said, time.Since(began))
		}
	})
}

func TestCallsThatWaitForAProgramAreLimited(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newBubbleRig(t, startWays["several"](t, 12*time.Second))
				client := r.connect(t, era, nil)
				done := make(chan error, maxStartWaits+1)
				for range maxStartWaits + 1 {
					go func() {
						_, err := client.CallTool(t.Context(), echoOf("several", "slow"))
						done <- err
					}()
				}
				synctest.Wait()
				if n := r.waiting(); n != maxStartWaits || len(done) != 1 {
					t.Fatalf("%d calls wait, and %d are refused", n, len(done))
				}
				if err := <-done; codeOf(t, err) != "upstream_unavailable" || !strings.Contains(err.Error(), "is starting, 0 s so far") {
					t.Errorf("error %v", err)
				}
				for range maxStartWaits {
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
				if n := r.waiting(); n != 0 {
					t.Errorf("%d calls wait after they are answered", n)
				}
			})
		})
	}
}

func TestACallOfAnUnknownNameWaitsOnlyForServersThatMayHaveIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prefix bridgeconfig.Prefix
		call   string
		want   string // the text of the answer or error
		took   time.Duration
	}{
		"the prefix of a server that starts":   {"", "slow_echo", "slow: hi", 12 * time.Second},
		"the prefix of one that is there":      {"", "fast_other", `unknown tool "fast_other"`, 0},
		"no prefix":                            {"", "echo", `unknown tool "echo"`, 0},
		"a name of a server that starts":       {"", "slow_other", `unknown tool "slow_other"`, 12 * time.Second},
		"any name where prefixes are optional": {bridgeconfig.PrefixAuto, "other", `unknown tool "other"`, 12 * time.Second},
		// The name is that of the first server that has it, also before that is there.
		"a name whose server depends on the order": {bridgeconfig.PrefixNever, "echo", "slow: hi", 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startWays["several"](t, 12*time.Second)
				c.ToolPrefix = tt.prefix
				client := newBubbleRig(t, c).connect(t, "modern", nil)
				synctest.Wait()
				began := time.Now()
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.call, Arguments: map[string]any{"text": "hi"}})
				got := ""
				if rpc, ok := asRPC(err); ok {
					got = rpc.Message
				} else if err == nil {
					got = text(t, result)
				}
				if got != tt.want || time.Since(began).Truncate(time.Second) != tt.took {
					t.Errorf("%q, %v after %s", got, err, time.Since(began))
				}
			})
		})
	}
}

func TestTheRouterFindsToolsOfServersThatStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments map[string]any
		servers   []time.Duration
		want      string
		took      time.Duration
	}{
		"a tool without its server": {map[string]any{"tool": "echo", "params": map[string]any{"text": "hi"}}, []time.Duration{12 * time.Second}, "s0: hi", 12 * time.Second},
		"an intent":                 {map[string]any{"action": "intent", "params": map[string]any{"intent": "echo"}}, []time.Duration{12 * time.Second}, `"server":"s0"`, 12 * time.Second},
		"an intent beside others":   {map[string]any{"action": "intent", "params": map[string]any{"intent": "echo"}}, []time.Duration{12 * time.Second, 0}, `"server":"s1"`, 5 * time.Second},
		"a list":                    {map[string]any{"action": "list", "server": "s0"}, []time.Duration{12 * time.Second, 0}, `"name":"echo"`, 12 * time.Second},
		"the state":                 {map[string]any{"action": "status"}, []time.Duration{12 * time.Second}, `"status":"starting"`, 0},
		"an unknown tool":           {map[string]any{"tool": "x"}, []time.Duration{time.Minute, 0}, `server "s0" is starting, 25 s so far`, 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := bridgeconfig.Config{Mode: bridgeconfig.Router}
				for i, after := range tt.servers {
					c.Servers = append(c.Servers, slow(t, []string{"s0", "s1"}[i], after))
				}
				client := newBubbleRig(t, c).connect(t, "modern", nil)
				synctest.Wait()
				began := time.Now()
				result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "mcp", Arguments: tt.arguments})
				got := ""
				if rpc, ok := asRPC(err); ok {
					got = rpc.Message
				} else if err == nil {
					got = text(t, result)
				}
				if !strings.Contains(got, tt.want) || time.Since(began).Truncate(time.Second) != tt.took {
					t.Errorf("%q, %v after %s", got, err, time.Since(began))
				}
			})
		})
	}
}

// TestACallWaitsForAServerAtAURLToo has a server that does not answer the first request yet.
func TestACallWaitsForAServerAtAURLToo(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			there := make(chan struct{})
			echo := mcpHandler(t, echoServer("one"), "legacy")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-there:
				case <-r.Context().Done():
				}
				echo.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: server.URL}, slow(t, "two", 0))
			client := r.connect(t, era, nil)
			done := make(chan string, 1)
			go func() {
				result, err := client.CallTool(t.Context(), echoOf("several", "one"))
				if err != nil {
					done <- err.Error()
					return
				}
				done <- text(t, result)
			}()
			wait.Until(t, "a call that waits", func() bool { return r.waiting() == 1 })
			close(there)
			if said := next(t, done, "answer"); said != "one: hi" {
				t.Error(said)
			}
		})
	}
}

// TestPromptsAndResourcesWaitToo asks for what has no tool's name.
func TestPromptsAndResourcesWaitToo(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		for name, ask := range map[string]func(t *testing.T, client *mcp.ClientSession) error{
			"prompts/get": func(t *testing.T, client *mcp.ClientSession) error {
				_, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "full_hello"})
				return err
			},
			"resources/read": func(t *testing.T, client *mcp.ClientSession) error {
				_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://shared"})
				return err
			},
			"completion/complete": func(t *testing.T, client *mcp.ClientSession) error {
				_, err := client.Complete(t.Context(), &mcp.CompleteParams{
					Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "full_hello"}, Argument: mcp.CompleteParamsArgument{Name: "x"},
				})
				return err
			},
		} {
			t.Run(era+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					full := programOf(t, &slowProgram{after: 12 * time.Second, server: fullServer("full", "a")})
					full.Name = "full"
					client := newBubbleRig(t, bridgeconfig.Config{Servers: []bridgeconfig.Server{full, slow(t, "fast", 0)}}).connect(t, era, nil)
					if err := ask(t, client); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestASubscriptionWaitsToo(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, count, opts, _ := subscribable()
				late := programOf(t, &slowProgram{after: 12 * time.Second, server: s})
				late.Name = "late"
				client := newBubbleRig(t, bridgeconfig.Config{Servers: []bridgeconfig.Server{late, slow(t, "fast", 0)}}).connect(t, era, opts)
				must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://a"}))
				wait.Until(t, "the subscription", func() bool { return count.Load() == 1 })
			})
		})
	}
}

func TestHealthDoesNotCallAServerThatStartsFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["several"](t, 12*time.Second))
		synctest.Wait()
		resp, body := r.do(t, http.MethodGet, "http://bridge/health", "", nil)
		var report health.Report
		must.Succeed(t, json.Unmarshal([]byte(body), &report))
		slow, fast := report.Servers["slow"], report.Servers["fast"]
		if resp.StatusCode != http.StatusOK || slow.Status != health.Connecting || slow.Failures != 0 || slow.Error != "" || fast.Status != health.Healthy {
			t.Errorf("%s", body)
		}
	})
}

// TestANameThatAClientHasSeenWaitsForNoOtherServer has names that depend on the order of the
// servers, of which the first takes long.
func TestANameThatAClientHasSeenWaitsForNoOtherServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startWays["several"](t, time.Minute)
		c.ToolPrefix = bridgeconfig.PrefixNever
		client := newBubbleRig(t, c).connect(t, "modern", nil)
		began := time.Now()
		// The tool that says so may be there in the same moment.
		if names := toolNames(t, client); names[0] != "echo" || slices.Contains(names, "echo_2") || time.Since(began) != upstream.DefaultTiming.Start {
			t.Errorf("tools %v after %s", names, time.Since(began))
		}
		began = time.Now()
		result := must.Value(client.CallTool(t.Context(), echoOf("one server", "")))(t)
		if text(t, result) != "fast: hi" || time.Since(began) > time.Second {
			t.Errorf("%s after %s", text(t, result), time.Since(began))
		}
	})
}

// hopping adds a bridge that a request has passed.
type hopping struct{ next http.RoundTripper }

func (h hopping) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(message.HeaderHops, "0123456789abcdef")
	return h.next.RoundTrip(r)
}

// TestABridgeThatListsAnotherIsNotHeldLong keeps two bridges that list each other from failing each
// other's attempts to connect.
func TestABridgeThatListsAnotherIsNotHeldLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, bridgeconfig.Config{Servers: []bridgeconfig.Server{slow(t, "a", time.Minute), slow(t, "b", time.Minute)}})
		r.http = &http.Client{Transport: hopping{r.http.Transport}}
		client := r.connect(t, "modern", nil)
		began := time.Now()
		if names := toolNames(t, client); len(names) != 0 || time.Since(began) != upstream.DefaultTiming.List {
			t.Errorf("tools %v after %s", names, time.Since(began))
		}
	})
}
