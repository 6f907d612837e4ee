// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/programs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errAnswer = &jsonrpc.Error{Code: -32000, Message: "network connection aborted: timeout"}
	errMissed = io.ErrUnexpectedEOF
	reads     = &mcp.ToolAnnotations{ReadOnlyHint: true}
	thrice    = bridgeconfig.Retry{MaxAttempts: 3, Delay: bridgeconfig.Duration(time.Second)}
)

// world is a pipeline before a server that is connected. The test delivers its requests.
type world struct {
	*Pipeline
	server *upstream.Server
	calls  int // requests that were delivered
	// result is the server's result of its n-th request.
	result func(n int) string
}

// newWorld returns a world in the bubble of a test. deliver answers the n-th request, n from 1 on.
func newWorld(t *testing.T, s bridgeconfig.Server, tool *mcp.ToolAnnotations, deliver func(ctx context.Context, n int) (again bool, err error)) *world {
	t.Helper()
	program := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, nil)
	program.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: tool}, nil)
	runs := func(*bridgeconfig.Program, stdio.Launch, *slog.Logger) client.Dialer {
		ours, theirs := mcp.NewInMemoryTransports()
		if _, err := program.Connect(t.Context(), theirs, nil); err != nil {
			t.Error(err)
		}
		return programs.Over(ours)
	}
	s.Name, s.Program, s.Transport = "one", &bridgeconfig.Program{Command: []string{"one"}}, bridgeconfig.Stdio
	life, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	w := &world{result: func(int) string { return `{"content":[]}` }, server: upstream.New(life, s, upstream.Options{
		Timing: upstream.DefaultTiming, Network: &http.Transport{}, Log: slog.New(slog.DiscardHandler), Runs: runs, Closing: &running,
		Changed: func(*upstream.Server, string) {}, Resumed: func(*upstream.Server) {}, Settled: func() {}, Observed: func() {},
	})}
	w.Pipeline = New(life, callaudit.NewTrail(slog.New(slog.DiscardHandler), nil, nil, nil), func() []*upstream.Server { return []*upstream.Server{w.server} },
		func(ctx context.Context, _ *message.Request, _ *upstream.Server) (mcp.Result, bool, error) {
			w.calls++
			again, err := deliver(ctx, w.calls)
			if err != nil {
				return nil, again, err
			}
			result, err := message.ParseResult([]byte(w.result(w.calls)))
			return result, false, err
		})
	running.Go(func() { w.server.Connector.Run(life) })
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	synctest.Wait()
	must.Value(w.server.Shared(t.Context()))(t)
	return w
}

// ask sends a request to the server through the pipeline.
func (w *world) ask(ctx context.Context, q message.Request) (*message.Result, error) {
	q.Method = methods.CallTool
	switch q.Params.(type) {
	case *mcp.GetPromptParams:
		q.Method = methods.GetPrompt
	case *mcp.ReadResourceParams:
		q.Method = methods.ReadResource
	}
	result, err := w.Forward(ctx, &q, w.server)
	if err != nil {
		return nil, err
	}
	return result.(*message.Result), nil
}

func (w *world) call(ctx context.Context, params mcp.Params) error {
	_, err := w.ask(ctx, message.Request{Params: params})
	return err
}

var toolCall = &mcp.CallToolParamsRaw{Name: "t"}

// always fails every request.
func always(again bool, err error) func(context.Context, int) (bool, error) {
	return func(context.Context, int) (bool, error) { return again, err }
}

// TestOnlyWhatDoesNoHarmIsRepeated counts the requests that a server gets of one request of a
// client.
func TestOnlyWhatDoesNoHarmIsRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params  mcp.Params
		tool    *mcp.ToolAnnotations
		deliver func(context.Context, int) (bool, error)
		retry   bridgeconfig.Retry
		want    int
	}{
		"a tool that only reads":                               {toolCall, reads, always(false, errMissed), thrice, 3},
		"a tool that can be repeated":                          {toolCall, &mcp.ToolAnnotations{IdempotentHint: true}, always(false, errMissed), thrice, 3},
		"a tool that says nothing":                             {toolCall, nil, always(false, errMissed), thrice, 1},
		"a tool that says it must not be":                      {toolCall, &mcp.ToolAnnotations{}, always(false, errMissed), thrice, 1},
		"a tool that says nothing and did not get the request": {toolCall, nil, always(true, errMissed), thrice, 3},
		"a prompt":              {&mcp.GetPromptParams{Name: "p"}, nil, always(false, errMissed), thrice, 3},
		"a resource":            {&mcp.ReadResourceParams{URI: "x:y"}, nil, always(false, errMissed), thrice, 3},
		"nothing is configured": {toolCall, reads, always(false, errMissed), bridgeconfig.Retry{}, 1},
		"nothing is configured, and it did not get it":         {toolCall, nil, always(true, errMissed), bridgeconfig.Retry{}, 2},
		"one attempt is configured":                            {toolCall, reads, always(true, errMissed), bridgeconfig.Retry{MaxAttempts: 1}, 1},
		"an error whose text speaks of timeout and connection": {toolCall, reads, always(false, errAnswer), thrice, 1},
		"a server that asked its client": {toolCall, reads, func(ctx context.Context, _ int) (bool, error) {
			QuestionObserver(ctx)()
			return false, errMissed
		}, thrice, 1},
		"answers to a server's questions": {&mcp.CallToolParamsRaw{Name: "t", RequestState: "asked"}, reads, always(false, errMissed), thrice, 1},
		"the second attempt succeeds": {toolCall, reads, func(_ context.Context, n int) (bool, error) {
			return false, []error{errMissed, nil}[n-1]
		}, thrice, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, bridgeconfig.Server{Retry: tt.retry}, tt.tool, tt.deliver)
				_ = w.call(t.Context(), tt.params)
				if w.calls != tt.want {
					t.Errorf("the server was called %d times, want %d", w.calls, tt.want)
				}
			})
		})
	}
}

// TestACancelledCallIsNotRepeated has the client give up while the bridge pauses.
func TestACancelledCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, bridgeconfig.Server{Retry: thrice}, reads, always(false, errMissed))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(thrice.Delay)/4) // The pause has at least half of it.
		defer cancel()
		if err := w.call(ctx, toolCall); err == nil || w.calls != 1 {
			t.Errorf("error = %v after %d calls", err, w.calls)
		}
	})
}

// TestACallEndsInItsTime has a server that answers no call.
func TestACallEndsInItsTime(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	wait := func(ctx context.Context, _ int) (bool, error) {
		<-ctx.Done()
		return false, ctx.Err()
	}
	for name, tt := range map[string]struct {
		retry bridgeconfig.Retry
		calls int
	}{"once": {bridgeconfig.Retry{}, 1}, "repeated": {bridgeconfig.Retry{MaxAttempts: 3, Delay: 1}, 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, bridgeconfig.Server{Retry: tt.retry, Timeouts: bridgeconfig.Timeouts{Call: bridgeconfig.Duration(limit)}}, reads, wait)
				began := time.Now()
				err := w.call(t.Context(), toolCall)
				if codeOf(err) != "upstream_timeout" || w.calls != tt.calls {
					t.Errorf("error = %v after %d calls", err, w.calls)
				}
				if took := time.Since(began).Round(time.Second); took != limit*time.Duration(tt.calls) {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestAServerThatIsNotReachedGetsARest follows a server's breaker: it opens, one call is tried
// after the pause, and an answer closes it.
func TestAServerThatIsNotReachedGetsARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := fault.ErrTimeout
		w := newWorld(t, bridgeconfig.Server{}, nil, func(context.Context, int) (bool, error) { return false, answer })
		for range UnreachedCalls {
			_ = w.call(t.Context(), toolCall)
		}
		refused := func() {
			t.Helper()
			before := w.calls
			err := w.call(t.Context(), toolCall)
			if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || codeOf(err) != "upstream_unavailable" || !strings.Contains(rpc.Message, "tried again in 1 s") ||
				!strings.Contains(string(rpc.Data), `"retryAfterSeconds":1`) {
				t.Errorf("error = %v, want one that says when to come back", err)
			}
			if w.calls != before {
				t.Error("the server was called in its pause")
			}
		}
		refused()
		time.Sleep(upstream.DefaultTiming.BackoffMin)
		_ = w.call(t.Context(), toolCall) // It fails and doubles the pause.
		if got := w.BreakerState(w.server); w.calls != UnreachedCalls+1 || got != BreakerOpen {
			t.Errorf("%d calls, and the breaker is %v", w.calls, got)
		}
		answer = nil
		time.Sleep(2 * upstream.DefaultTiming.BackoffMin)
		if err := w.call(t.Context(), toolCall); err != nil || w.BreakerState(w.server) != BreakerClosed {
			t.Errorf("error = %v, and the breaker is %v", err, w.BreakerState(w.server))
		}
	})
}

// TestAServerThatAnswersGetsNoRest however it answers, nor one that is connected to anew.
func TestAServerThatAnswersGetsNoRest(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"results": nil, "errors": errAnswer} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, bridgeconfig.Server{}, nil, always(false, err))
			w.result = func(int) string { return `{"isError":true,"content":[]}` }
			for range UnreachedCalls + 2 {
				_ = w.call(t.Context(), toolCall)
			}
			if got := w.BreakerState(w.server); w.calls != UnreachedCalls+2 || got != BreakerClosed {
				t.Errorf("%s: %d calls, and the breaker is %v", name, w.calls, got)
			}
			w.OpenBreaker(w.server, time.Hour) // The connection is another than that of the last failure, which is none.
			if _ = w.call(t.Context(), toolCall); w.calls != UnreachedCalls+3 {
				t.Errorf("%s: the server is not called, though it is connected again", name)
			}
		})
	}
}

// codeOf returns the bridge's code of an error, empty for none.
func codeOf(err error) string {
	var data struct{ Code string }
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		_ = json.Unmarshal(rpc.Data, &data)
	}
	return data.Code
}
