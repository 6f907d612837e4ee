// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/breaker"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

const (
	done     = `{"content":[{"type":"text","text":"done"}]}`
	readOnly = `{"readOnlyHint":true}`
)

// thrice is a configuration of three attempts without a long pause.
var thrice = mcpserver.Retry{MaxAttempts: 3, Delay: mcpserver.Duration(time.Millisecond)}

// TestOnlyWhatDoesNoHarmIsRepeated counts the calls that a server gets of one
// call of a client, in every mode.
func TestOnlyWhatDoesNoHarmIsRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		annotations string
		answer      func(http.ResponseWriter, *http.Request, sentMessage, int) string
		retry       mcpserver.Retry
		want        int
	}{
		"a tool that only reads, unreached":                    {readOnly, failing, thrice, 3},
		"a tool that can be repeated, unreached":               {`{"idempotentHint":true}`, failing, thrice, 3},
		"a tool that says nothing, unreached":                  {`{}`, failing, thrice, 1},
		"a tool that says it must not be":                      {`{"readOnlyHint":false,"idempotentHint":false}`, failing, thrice, 1},
		"a server in trouble":                                  {readOnly, refusing(http.StatusBadGateway), thrice, 3},
		"a server in trouble, for a tool that says nothing":    {`{}`, refusing(http.StatusBadGateway), thrice, 1},
		"nothing is configured":                                {readOnly, failing, mcpserver.Retry{}, 1},
		"one attempt is configured":                            {readOnly, failing, mcpserver.Retry{MaxAttempts: 1}, 1},
		"an error result of a tool that reads":                 {readOnly, same(`{"isError":true,"content":[{"type":"text","text":"connection timeout"}]}`), thrice, 1},
		"an error whose text speaks of timeout and connection": {readOnly, erring("network connection aborted: timeout"), thrice, 1},
		"the second attempt succeeds": {readOnly, func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
			if n == 1 {
				return failing(w, r, m, n)
			}
			return done
		}, thrice, 2},
	}
	for name, tt := range tests {
		for way := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s := &script{annotations: tt.annotations, answer: tt.answer}
				server := s.serve(t)
				server.Retry = tt.retry
				_, call := newWay(t, way, "modern", server, Options{})
				_, _ = call(t.Context(), nil)
				if got := s.count(message.MethodCallTool); got != tt.want {
					t.Errorf("the server was called %d times, want %d", got, tt.want)
				}
			})
		}
	}
}

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	for method, read := range map[string]func(context.Context, *mcp.ClientSession) error{
		message.MethodGetPrompt: func(ctx context.Context, c *mcp.ClientSession) error {
			_, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
			return err
		},
		message.MethodReadResource: func(ctx context.Context, c *mcp.ClientSession) error {
			_, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x:y"})
			return err
		},
	} {
		s := &script{answer: failing}
		server := s.serve(t)
		server.Retry = thrice
		client := newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{server}}).connect(t, "legacy", nil)
		if err := read(t.Context(), client); err == nil || s.count(method) != 3 {
			t.Errorf("%s was tried %d times, want 3; the error is %v", method, s.count(method), err)
		}
	}
}

// TestACallThatAskedIsNotRepeated has a read-only tool not answer, once after it
// asked the client.
func TestACallThatAskedIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"ask": 1, "quiet": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := make(chan struct{}, 8)
			s := emptyServer(nil)
			s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs <- struct{}{}
					if name == "ask" {
						if _, err := questions[message.MethodElicit](ctx, req.Session); err != nil {
							return nil, err
						}
					}
					<-ctx.Done()
					return nil, ctx.Err()
				})
			front := serveMCP(t, s, "legacy")
			t.Cleanup(front.Close)
			server := mcpserver.Server{Name: "one", URL: front.URL, Retry: thrice, Timeouts: mcpserver.Timeouts{Call: mcpserver.Duration(300 * time.Millisecond)}}
			r := newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{server}})
			awaitLists(t, r.bridge)
			client := r.connect(t, "legacy", asking("ann"))
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			if codeOf(t, err) != "upstream_timeout" || len(runs) != want {
				t.Errorf("the tool ran %d times, want %d; the error is %v", len(runs), want, err)
			}
		})
	}
}

// TestACancelledCallIsNotRepeated has the client give up while the bridge pauses.
func TestACancelledCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{annotations: readOnly, answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
		time.AfterFunc(50*time.Millisecond, cancel)
		return failing(w, r, m, n)
	}}
	server := s.serve(t)
	server.Retry = mcpserver.Retry{MaxAttempts: 3, Delay: mcpserver.Duration(time.Minute)}
	_, call := newWay(t, "direct, one server", "modern", server, Options{})
	if _, err := call(ctx, nil); !errors.Is(err, context.Canceled) || s.count(message.MethodCallTool) != 1 {
		t.Errorf("error = %v after %d calls", err, s.count(message.MethodCallTool))
	}
}

// TestACallEndsInItsTime has a tool work until it is cancelled, which the server
// must hear.
func TestACallEndsInItsTime(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for way := range ways {
				t.Run(clientEra+" client, "+serverEra+" server, "+way, func(t *testing.T) {
					t.Parallel()
					began, cancelled := make(chan struct{}, 20), make(chan struct{}, 20)
					s := emptyServer(nil)
					rawTool(s, "t", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						began <- struct{}{}
						<-ctx.Done()
						cancelled <- struct{}{}
						return nil, ctx.Err()
					})
					front := serveMCP(t, s, serverEra)
					t.Cleanup(front.Close)
					server := mcpserver.Server{Name: "one", URL: front.URL, Timeouts: mcpserver.Timeouts{Call: mcpserver.Duration(100 * time.Millisecond)}}
					_, call := newWay(t, way, clientEra, server, Options{})
					// On a busy machine the time may be over before the call is there.
					for attempt := 0; attempt < 20 && len(began) == 0; attempt++ {
						_, err := call(t.Context(), nil)
						code := codeOf(t, err)
						if rpc, ok := asRPC(err); !ok || rpc.Code != jsonrpc.CodeInternalError ||
							code != "upstream_timeout" && (attempt == 0 || code != "upstream_unavailable") {
							t.Errorf("error = %v", err)
						}
					}
					next(t, cancelled, "cancellation at the server")
				})
			}
		}
	}
}

// TestAServerThatIsNotReachedGetsARest follows a server's breaker: it opens, one
// call is tried after the pause, and an answer closes it.
func TestAServerThatIsNotReachedGetsARest(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			healthy := make(chan struct{})
			s := &script{answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
				if inflight.Closed(healthy) {
					return done
				}
				return refusing(http.StatusServiceUnavailable)(w, r, m, n)
			}}
			timing := fast
			timing.BackoffMin, timing.BackoffMax = time.Second, time.Second
			r, call := newWay(t, way, "modern", s.serve(t), Options{timing: &timing})
			for range pipeline.UnreachedCalls {
				if _, err := call(t.Context(), nil); codeOf(t, err) == "" {
					t.Fatalf("error = %v", err)
				}
			}
			u := r.bridge.set.servers()[0]
			if got := r.bridge.pipeline.BreakerState(u); got != breaker.Open {
				t.Fatalf("the breaker is %v", got)
			}
			_, err := call(t.Context(), nil)
			if rpc, ok := asRPC(err); !ok || codeOf(t, err) != "upstream_unavailable" || !strings.Contains(rpc.Message, "tried again in 1 s") ||
				!strings.Contains(string(rpc.Data), `"retryAfterSeconds":1`) {
				t.Errorf("error = %v, want one that says when to come back", err)
			}
			if got := s.count(message.MethodCallTool); got != pipeline.UnreachedCalls {
				t.Errorf("the server was called %d times, want %d", got, pipeline.UnreachedCalls)
			}
			close(healthy)
			eventually(t, "the breaker is closed after the server came back", func() bool {
				if result, err := call(t.Context(), nil); err == nil && text(t, result) != "done" {
					t.Errorf("result = %v", result)
				}
				return r.bridge.pipeline.BreakerState(u) == breaker.Closed
			})
		})
	}
}

// TestAServerThatAnswersGetsNoRest has a server fail in all ways that are
// answers.
func TestAServerThatAnswersGetsNoRest(t *testing.T) {
	t.Parallel()
	tests := map[string]func(http.ResponseWriter, *http.Request, sentMessage, int) string{
		"error results":   same(`{"isError":true,"content":[]}`),
		"JSON-RPC errors": erring("connection refused"),
		"JSON-RPC errors with a status": func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.ID)
			return ""
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: answer}
			r, call := newWay(t, "direct, one server", "modern", s.serve(t), Options{})
			for range pipeline.UnreachedCalls + 2 {
				_, _ = call(t.Context(), nil)
			}
			if got := s.count(message.MethodCallTool); got != pipeline.UnreachedCalls+2 || r.bridge.pipeline.BreakerState(r.bridge.set.servers()[0]) != breaker.Closed {
				t.Errorf("the server was called %d times of %d", got, pipeline.UnreachedCalls+2)
			}
		})
	}
}

// TestANewConnectionEndsTheRest has a server come back long before its pause
// ends.
func TestANewConnectionEndsTheRest(t *testing.T) {
	t.Parallel()
	s := &script{answer: same(done)}
	r, call := newWay(t, "direct, one server", "modern", s.serve(t), Options{})
	u := r.bridge.set.servers()[0]
	r.bridge.pipeline.OpenBreaker(u, time.Hour)
	if _, err := call(t.Context(), nil); err != nil {
		t.Errorf("a server with another connection than the one that failed is not called: %v", err)
	}
}
