// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is what the bridge has of a server that may ask.
type rig struct {
	*SuspendedCalls
	pool   *Pool
	server *upstream.Server
	began  atomic.Int32 // calls at the server
	ended  chan error   // of each call at the server
}

// signer signs with the keys of one process.
type signer struct {
	*token.Keys
	process token.Nonce
}

func (s signer) ProcessID() token.Nonce { return s.process }

// inBubble tests in a bubble before a server whose one tool does the work.
func inBubble(t *testing.T, modern bool, work func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error), test func(*testing.T, *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{ended: make(chan error, 200)}
		s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, nil)
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r.began.Add(1)
			result, err := work(ctx, req)
			r.ended <- err
			return result, err
		})
		l := pipes.New()
		front := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
			Stateless: modern, PropagateRequestCancellation: true, DisableLocalhostProtection: true,
		})}
		transport := &http.Transport{DialContext: l.Dial}
		life, end := context.WithCancel(context.Background())
		var running, closing sync.WaitGroup
		r.server = upstream.New(life, bridgeconfig.Server{Name: "one", URL: "http://one/mcp"}, upstream.Options{
			Timing: upstream.DefaultTiming, Network: transport, Log: slog.New(slog.DiscardHandler), Memory: budget.New(0, budget.Patience), Closing: &closing,
			Changed: func(*upstream.Server, string) {}, Resumed: func(*upstream.Server) {}, Observed: func() {}, Settled: func() {},
		})
		keys := signer{token.NewKeys([][]byte{bytes.Repeat([]byte{1}, 32)}, "alice/uid-1"), token.Nonce{1}}
		r.SuspendedCalls = NewSuspendedCalls(life, running.Go, keys)
		r.pool = NewPool(life, running.Go)
		running.Go(func() { _ = front.Serve(l) })
		t.Cleanup(func() {
			end()
			for ss := range s.Sessions() {
				_ = ss.Close()
			}
			_ = front.Close()
			transport.CloseIdleConnections()
			running.Wait()
			closing.Wait()
		})
		test(t, r)
	})
}

const (
	canElicit = `{"elicitation":{"form":{},"url":{}}}`
	canAll    = `{"elicitation":{},"sampling":{},"roots":{}}`
)

// asked is the answer to a call: questions with a state, another result, or an error.
type asked struct {
	ResultType    string
	InputRequests map[string]struct{ Method string }
	RequestState  string
	text          string
}

// call calls the tool as a client of 2026-07-28, past the rest of the bridge. more has the state and the
// answers.
func (r *rig) call(t *testing.T, arguments, caps string, more asked) (a asked) {
	t.Helper()
	q := &message.Request{
		Method: methods.CallTool, Era: message.Modern, Meta: map[string]any{message.MetaClientCaps: json.RawMessage(caps)},
		Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(arguments), RequestState: more.RequestState},
	}
	must.Succeed(t, json.Unmarshal([]byte(more.text), &q.Responses))
	p, err := r.Resume(t.Context(), q, r.server)
	if p == nil && err == nil {
		p = r.start(t, q)
	}
	done := Outcome{Err: err}
	if err == nil {
		done = r.Await(t.Context(), p)
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](done.Err); ok {
		return asked{text: fmt.Sprintf("%s %s", rpc.Message, rpc.Data)}
	}
	must.Succeed(t, done.Err)
	text := must.Value(json.Marshal(done.Result))(t)
	must.Succeed(t, json.Unmarshal(text, &a))
	a.text = string(text)
	return a
}

// start sends the call to the server.
func (r *rig) start(t *testing.T, q *message.Request) *SuspendedCall {
	t.Helper()
	caps := q.Askable()
	l, release := must.Values(r.pool.Get(t.Context(), r.server, caps))(t)
	x := &inflight.Call{Ctx: t.Context(), Method: q.Method}
	p := r.Suspend(q, r.server, l, caps, x)
	params := q.Outgoing(nil)
	end, ok := l.Calls.Begin(x, params, true)
	if !ok {
		t.Fatal("the connection has ended")
	}
	r.Start(p, func(ctx context.Context) Outcome {
		defer release()
		defer end()
		if _, err := l.Call(ctx, q.Method, params, x); x.Delivery.Result() == nil {
			return Outcome{Err: err}
		}
		result, err := l.Finish(q, x)
		return Outcome{Result: result, Err: err}
	})
	return p
}

// accepting answers the questions of these keys, or all.
func accepting(a asked, keys ...string) asked {
	answers := map[string]json.RawMessage{}
	for key, question := range a.InputRequests {
		if len(keys) == 0 || keys[0] == key {
			answers[key] = map[string]json.RawMessage{
				methods.Elicit:        json.RawMessage(`{"action":"accept","content":{"name":"ann"}}`),
				methods.CreateMessage: json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`),
				methods.ListRoots:     json.RawMessage(`{"roots":[]}`),
			}[question.Method]
		}
	}
	text, _ := json.Marshal(answers)
	return asked{RequestState: a.RequestState, text: string(text)}
}

var noMore = asked{text: "{}"}

func said(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// askFor asks the client by the method.
func askFor(ctx context.Context, s *mcp.ServerSession, method string) (err error) {
	switch method {
	case methods.Elicit:
		_, err = s.Elicit(ctx, &mcp.ElicitParams{Message: "it", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
	case methods.CreateMessage:
		_, err = s.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
	case methods.ListRoots:
		_, err = s.ListRoots(ctx, nil)
	case "url":
		_, err = s.Elicit(ctx, &mcp.ElicitParams{Mode: "url", URL: "https://example.com/login", ElicitationID: "e1", Message: "log in"})
	}
	return err
}

// inquire asks the question that the arguments name, as often as they say.
func inquire(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a struct {
		Method string
		Times  int
	}
	_ = json.Unmarshal(req.Params.Arguments, &a)
	for range max(a.Times, 1) {
		if err := askFor(ctx, req.Session, a.Method); err != nil {
			return nil, err
		}
	}
	return said("ann"), nil
}

// TestWhatStaysUnansweredIsAskedAgain has three questions come together, and answers one at a time.
func TestWhatStaysUnansweredIsAskedAgain(t *testing.T) {
	inBubble(t, false, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var all sync.WaitGroup
		for _, method := range []string{methods.Elicit, methods.CreateMessage, methods.ListRoots} {
			all.Go(func() {
				if err := askFor(ctx, req.Session, method); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return said("ann"), nil
	}, func(t *testing.T, r *rig) {
		a := r.call(t, `{}`, canAll, noMore)
		if !strings.Contains(a.text, `"io.modelcontextprotocol/serverInfo":{"name":"one"`) {
			t.Errorf("the answer is not the server's: %s", a.text)
		}
		for left := 3; left > 0; left-- {
			if len(a.InputRequests) != left || a.ResultType != "input_required" {
				t.Fatalf("%d questions are left, want %d: %s", len(a.InputRequests), left, a.text)
			}
			for key := range a.InputRequests {
				a = r.call(t, `{}`, canAll, accepting(a, key))
				break
			}
		}
		if !strings.Contains(a.text, "ann") || a.ResultType != "complete" || r.began.Load() != 1 || r.Len() != 0 {
			t.Errorf("answer = %s, the tool was called %d times, %d calls wait", a.text, r.began.Load(), r.Len())
		}
	})
}

// TestAWrongAnswerLeavesItsCallWaiting tries all wrong answers before the right ones, which must still
// be taken, each once.
func TestAWrongAnswerLeavesItsCallWaiting(t *testing.T) {
	inBubble(t, false, inquire, func(t *testing.T, r *rig) {
		const arguments = `{"a":1, "method":"elicitation/create", "times":2}`
		first := r.call(t, arguments, canElicit, noMore)
		right := accepting(first)
		other := func(change func(*token.State)) asked {
			state := must.Value(r.signer.OpenState(first.RequestState))(t)
			change(&state)
			return asked{RequestState: r.signer.SignState(state), text: right.text}
		}
		for name, tt := range map[string]struct {
			arguments string
			more      asked
			says      string
		}{
			"one for other arguments":    {`{"a":2, "method":"elicitation/create", "times":2}`, right, "request_state_invalid"},
			"one of another process":     {arguments, other(func(s *token.State) { s.Process = token.Nonce{2} }), "the bridge has restarted"},
			"one of another call":        {arguments, other(func(s *token.State) { s.Call = token.Nonce{3} }), "request_state_expired"},
			"one of another round":       {arguments, other(func(s *token.State) { s.Round++ }), "request_state_used"},
			"an answer of another kind":  {arguments, asked{RequestState: first.RequestState, text: `{"1":{"roots":[]}}`}, "input_response_invalid"},
			"no answer, which asks anew": {arguments, noMore, "input_required"},
		} {
			if a := r.call(t, tt.arguments, canElicit, tt.more); !strings.Contains(a.text, tt.says) {
				t.Errorf("%s: %s, want %s", name, a.text, tt.says)
			}
		}
		began := r.began.Load()
		second := r.call(t, `{"times":2, "method":"elicitation/create", "a" : 1}`, canElicit, right)
		if a := r.call(t, arguments, canElicit, right); !strings.Contains(a.text, "request_state_used") {
			t.Errorf("the first answer in the second round is answered with %s", a.text)
		}
		if a := r.call(t, arguments, canElicit, accepting(second)); !strings.Contains(a.text, "ann") {
			t.Errorf("the last answer is answered with %s", a.text)
		}
		if a := r.call(t, arguments, canElicit, accepting(second)); !strings.Contains(a.text, "request_state_expired") || r.began.Load() != began {
			t.Errorf("the answer a second time is answered with %s, and the tool was called %d times more", a.text, r.began.Load()-began)
		}
	})
}

func TestAClientThatDoesNotComeBackEndsItsCall(t *testing.T) {
	inBubble(t, false, inquire, func(t *testing.T, r *rig) {
		a := r.call(t, `{"method":"elicitation/create"}`, canElicit, noMore)
		time.Sleep(suspendTime - time.Second)
		synctest.Wait()
		if r.Len() != 1 || len(r.ended) != 0 {
			t.Errorf("%d calls wait before the time is over", r.Len())
		}
		time.Sleep(time.Second)
		if err := <-r.ended; err == nil {
			t.Error("the call ended well")
		}
		if a := r.call(t, `{"method":"elicitation/create"}`, canElicit, accepting(a)); !strings.Contains(a.text, "waited for an answer for too long") {
			t.Errorf("answer = %s", a.text)
		}
	})
}

// TestTooManyCallsThatWaitAreRefused has as many wait as may.
func TestTooManyCallsThatWaitAreRefused(t *testing.T) {
	inBubble(t, false, inquire, func(t *testing.T, r *rig) {
		const arguments = `{"method":"elicitation/create"}`
		var a asked
		for range MaxSuspended {
			a = r.call(t, arguments, canElicit, noMore)
		}
		if n := r.pool.Size(r.server); n > MaxPooled {
			t.Errorf("%d connections, want at most %d", n, MaxPooled)
		}
		if more := r.call(t, arguments, canElicit, noMore); !strings.Contains(more.text, "too_many_waiting") {
			t.Errorf("one more is answered with %s", more.text)
		}
		if err := <-r.ended; err == nil {
			t.Error("the refused call ended well")
		}
		if a := r.call(t, arguments, canElicit, accepting(a)); !strings.Contains(a.text, "ann") {
			t.Errorf("one that waits is answered with %s", a.text)
		}
		if a := r.call(t, arguments, canElicit, noMore); a.ResultType != "input_required" {
			t.Errorf("the next one is answered with %s", a.text)
		}
	})
}

// TestAServerMayStopWaiting has a server give its question up.
func TestAServerMayStopWaiting(t *testing.T) {
	inBubble(t, false, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		brief, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return said("without you: %v", askFor(brief, req.Session, methods.Elicit) != nil), nil
	}, func(t *testing.T, r *rig) {
		a := r.call(t, `{}`, canElicit, noMore)
		must.Succeed(t, <-r.ended)
		if a := r.call(t, `{}`, canElicit, accepting(a)); !strings.Contains(a.text, "without you: true") {
			t.Errorf("answer = %s", a.text)
		}
	})
}

// TestWhatAClientCannotIsToldTheServer asks for what the client did not say that it can.
func TestWhatAClientCannotIsToldTheServer(t *testing.T) {
	inBubble(t, false, inquire, func(t *testing.T, r *rig) {
		for method, caps := range map[string]string{methods.CreateMessage: canElicit, methods.ListRoots: `{"sampling":{}}`, "url": `{"elicitation":{"form":{}}}`} {
			if a := r.call(t, `{"method":"`+method+`"}`, caps, noMore); a.ResultType != "" || <-r.ended == nil {
				t.Errorf("%s: answer = %s, want the server's refusal", method, a.text)
			}
		}
	})
}

// TestAServerLearnsWhatEachClientCan has clients of different capabilities call at once.
func TestAServerLearnsWhatEachClientCan(t *testing.T) {
	inBubble(t, false, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		caps := req.Session.InitializeParams().Capabilities
		url := caps.Elicitation != nil && caps.Elicitation.URL != nil
		return said("elicit %v, url %v, sample %v, roots %v", caps.Elicitation != nil, url, caps.Sampling != nil, caps.RootsV2 != nil), nil
	}, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for caps, want := range map[string]string{
			canElicit:                             "elicit true, url true, sample false, roots false",
			canAll:                                "elicit true, url false, sample true, roots true",
			`{"sampling":{"tools":{}},"other":1}`: "elicit false, url false, sample true, roots false",
			`{"roots":{"listChanged":true}}`:      "elicit false, url false, sample false, roots true",
		} {
			for range 5 {
				all.Go(func() {
					if a := r.call(t, `{}`, caps, noMore); !strings.Contains(a.text, want) {
						t.Errorf("%s: %s, want %s", caps, a.text, want)
					}
				})
			}
		}
		all.Wait()
	})
}

// client is a client of a session that answers each question alike.
type client struct {
	message.Client
	asked atomic.Int32
}

func (c *client) Info() *mcp.Implementation             { return message.Implementation }
func (c *client) Capabilities() *mcp.ClientCapabilities { return message.AllClientCapabilities() }

func (c *client) Send(context.Context, string, mcp.Params) (mcp.Result, error) {
	c.asked.Add(1)
	return &message.Answer{Raw: json.RawMessage(`{"action":"accept"}`)}, nil
}

// TestAServerAsksAClientWithASessionOnlySoOften has a server of 2026-07-28 ask once for each character
// of its argument.
func TestAServerAsksAClientWithASessionOnlySoOften(t *testing.T) {
	inBubble(t, true, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if state := req.Params.RequestState + "?"; len(state) <= len(req.Params.Arguments)-len(`""`) {
			return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{Message: "it"}}}, nil
		}
		return said("ann"), nil
	}, func(t *testing.T, r *rig) {
		for times, want := range map[int]error{2: nil, maxRounds - 1: nil, maxRounds: errTooManyRounds} {
			c := &client{}
			q := &message.Request{Method: methods.CallTool, Session: c, Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(message.Quote(strings.Repeat("x", times)))}}
			l := must.Value(r.server.Dial(t.Context(), upstream.ClientIdentity{Info: message.Implementation, Capabilities: c.Capabilities()}, &PoolHandler{}))(t)
			x := &inflight.Call{Ctx: t.Context(), Method: q.Method}
			err := Converse(t.Context(), q, l, x, q.Outgoing(l.Audience.About(c)))
			if !errors.Is(err, want) || int(c.asked.Load()) != times || (err == nil) != strings.Contains(string(x.Delivery.Result()), "ann") {
				t.Errorf("%d questions: asked %d, %v, result %s", times, c.asked.Load(), err, x.Delivery.Result())
			}
			l.Life.Close()
		}
	})
}

func TestAnIdleConnectionForCapabilitiesIsClosed(t *testing.T) {
	inBubble(t, false, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("ok"), nil }, func(t *testing.T, r *rig) {
		for i, pause := range []time.Duration{capableIdle - time.Second, capableIdle - time.Second, capableIdle, 0} {
			if a := r.call(t, `{}`, canElicit, noMore); !strings.Contains(a.text, "ok") {
				t.Errorf("call %d: answer = %s", i, a.text)
			}
			time.Sleep(pause)
			synctest.Wait()
			if n := r.pool.Size(r.server); n == 0 != (pause == capableIdle) {
				t.Errorf("%d connections %s after call %d", n, pause, i)
			}
		}
	})
}
