// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	done     = `{"content":[{"type":"text","text":"done"}]}`
	readOnly = `{"readOnlyHint":true}`
)

// thrice is a configuration of three attempts without a long pause.
var thrice = bridgeconfig.Retry{MaxAttempts: 3, Delay: bridgeconfig.Duration(time.Millisecond)}

// TestAServersFailuresAreRepeatedInEveryMode counts the calls that a server gets of one call of a
// client. The pipeline decides which calls are repeated.
func TestAServersFailuresAreRepeatedInEveryMode(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := &script{annotations: readOnly, answer: failing}
			server := s.serve(t)
			server.Retry = thrice
			_, call := newWay(t, way, "modern", server, Options{})
			_, _ = call(t.Context(), nil)
			if got := s.count(methods.CallTool); got != 3 {
				t.Errorf("the server was called %d times, want 3", got)
			}
		})
	}
}

// TestACallThatAskedIsNotRepeated has the connection break in a call of a read-only tool, once after
// it asked the client.
func TestACallThatAskedIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"ask": 1, "quiet": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{})
			s := &script{annotations: readOnly, answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
				if name == "ask" {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"it","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n")
					_ = http.NewResponseController(w).Flush()
					<-answered
				}
				return failing(w, r, m, n)
			}}
			s.answered = func(sentMessage) { close(answered) }
			server := s.serve(t)
			server.Retry = thrice
			r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server}})
			awaitLists(t, r.bridge)
			_, err := r.connect(t, "legacy", asking("ann")).CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			if got := s.count(methods.CallTool); err == nil || got != want {
				t.Errorf("the tool ran %d times, want %d; the error is %v", got, want, err)
			}
		})
	}
}

// TestACallEndsInItsTime has a tool work until it is cancelled, which the server must hear.
func TestACallEndsInItsTime(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			cancelled := make(chan struct{}, 1000)
			s := emptyServer(nil)
			rawTool(s, "t", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-ctx.Done()
				cancelled <- struct{}{}
				return nil, ctx.Err()
			})
			server := served(t, "one", s, era)
			server.Timeouts.Call = bridgeconfig.Duration(100 * time.Millisecond)
			_, call := newWay(t, "direct, one server", era, server, Options{})
			// On a busy machine the time may be over before the call is there, or while it is on its way.
			wait.Until(t, "cancellation at the server", func() bool {
				_, err := call(t.Context(), nil)
				if rpc, ok := asRPC(err); !ok || rpc.Code != jsonrpc.CodeInternalError {
					t.Errorf("error = %v", err)
				}
				return len(cancelled) > 0
			})
		})
	}
}

// TestAServerThatIsNotReachedGetsARest follows a server's breaker until it is open. The pipeline
// decides when it is closed.
func TestAServerThatIsNotReachedGetsARest(t *testing.T) {
	t.Parallel()
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: refusing(http.StatusServiceUnavailable)}
			timing := fast
			timing.BackoffMin, timing.BackoffMax = time.Hour, time.Hour
			r, call := newWay(t, way, "modern", s.serve(t), Options{timing: &timing})
			for range pipeline.UnreachedCalls {
				if _, err := call(t.Context(), nil); codeOf(t, err) == "" {
					t.Fatalf("error = %v", err)
				}
			}
			if got := r.bridge.pipeline.BreakerState(r.bridge.set.servers()[0]); got != pipeline.BreakerOpen {
				t.Fatalf("the breaker is %v", got)
			}
			_, err := call(t.Context(), nil)
			if rpc, ok := asRPC(err); !ok || codeOf(t, err) != "upstream_unavailable" || !strings.Contains(rpc.Message, "tried again in ") ||
				!strings.Contains(string(rpc.Data), `"retryAfterSeconds":`) {
				t.Errorf("error = %v, want one that says when to come back", err)
			}
			if got := s.count(methods.CallTool); got != pipeline.UnreachedCalls {
				t.Errorf("the server was called %d times, want %d", got, pipeline.UnreachedCalls)
			}
		})
	}
}

// TestAServerThatAnswersGetsNoRest has a server answer with errors that have a status.
func TestAServerThatAnswersGetsNoRest(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, n int) string {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.ID)
		return ""
	}}
	r, call := newWay(t, "direct, one server", "modern", s.serve(t), Options{})
	for range pipeline.UnreachedCalls + 2 {
		_, _ = call(t.Context(), nil)
	}
	if got := s.count(methods.CallTool); got != pipeline.UnreachedCalls+2 || r.bridge.pipeline.BreakerState(r.bridge.set.servers()[0]) != pipeline.BreakerClosed {
		t.Errorf("the server was called %d times of %d", got, pipeline.UnreachedCalls+2)
	}
}
