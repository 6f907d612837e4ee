// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// inquisitive is a legacy server whose tools ask in all ways. It counts how often
// they began.
type inquisitive struct {
	bridgeconfig.Server
	begun atomic.Int32
}

func newInquisitive(t *testing.T) *inquisitive {
	t.Helper()
	q := &inquisitive{}
	// Some tests leave calls behind, for which the server would wait.
	over, end := context.WithCancel(t.Context())
	s := emptyServer(nil)
	tool := func(name string, work func(context.Context, *mcp.CallToolRequest) (string, error)) {
		rawTool(s, name, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			q.begun.Add(1)
			ctx, stop := egress.FollowContext(ctx, over)
			defer stop()
			answer, err := work(ctx, req)
			if err != nil {
				return nil, err
			}
			return said("%s", answer), nil
		})
	}
	tool("rounds", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		var answers []string
		for _, method := range []string{methods.Elicit, methods.CreateMessage, methods.ListRoots, methods.Elicit} {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(len(answers))})
			answer, err := questions[method](ctx, req.Session)
			if err != nil {
				return "", err
			}
			answers = append(answers, fmt.Sprint(answer))
		}
		return strings.Join(answers, "; "), nil
	})
	tool("together", func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
		answers := make([]string, 3)
		var waiting sync.WaitGroup
		for i, method := range []string{methods.Elicit, methods.CreateMessage, methods.ListRoots} {
			waiting.Go(func() {
				answer, err := questions[method](ctx, req.Session)
				answers[i] = fmt.Sprint(answer, err)
			})
		}
		waiting.Wait()
		return strings.Join(answers, "; "), nil
	})
	for method, ask := range questions {
		tool(method, func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			answer, err := ask(ctx, req.Session)
			return fmt.Sprint(answer), err
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "ask"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		answer, err := questions[methods.Elicit](ctx, req.Session)
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(answer)}}}}, err
	})
	s.AddResource(&mcp.Resource{Name: "ask", URI: "file:///ask"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		answer, err := questions[methods.Elicit](ctx, req.Session)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: fmt.Sprint(answer)}}}, err
	})
	server := serveMCP(t, s, "legacy")
	t.Cleanup(server.Close)
	t.Cleanup(end)
	q.Server = bridgeconfig.Server{Name: "one", URL: server.URL}
	return q
}

// TestAModernClientIsAskedByALegacyServer lets the SDK's client do what it does
// by itself.
func TestAModernClientIsAskedByALegacyServer(t *testing.T) {
	t.Parallel()
	q := newInquisitive(t)
	r := newRig(t, fast, q.Server)
	progress := make(chan float64, 16)
	opts := asking("ann")
	opts.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if req.Params.ProgressToken == "mine" {
			progress <- req.Params.Progress
		}
	}
	client := r.connect(t, "modern", opts)
	for tool, want := range map[string]string{
		"rounds":   "ann on it; ann on it; ann on it, with 0 roots; ann on it",
		"together": "ann on it<nil>; ann on it<nil>; ann on it, with 0 roots<nil>",
	} {
		before := q.begun.Load()
		params := &mcp.CallToolParams{Name: tool}
		params.SetProgressToken("mine")
		result := must.Value(client.CallTool(t.Context(), params))(t)
		if got := text(t, result); strings.ReplaceAll(got, " <nil>", "<nil>") != want {
			t.Errorf("%s = %s, want %s", tool, got, want)
		}
		if n := q.begun.Load() - before; n != 1 {
			t.Errorf("%s was called %d times at the server", tool, n)
		}
	}
	for want := range 4 {
		if got := next(t, progress, "progress"); got != float64(want) {
			t.Errorf("progress = %v, want %d", got, want)
		}
	}
	prompt, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "ann on it" {
		t.Errorf("prompt = %+v, %v", prompt, err)
	}
	resource, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///ask"})
	if err != nil || resource.Contents[0].Text != "ann on it" {
		t.Errorf("resource = %+v, %v", resource, err)
	}
	if n := r.bridge.delivery.suspended.Len(); n != 0 {
		t.Errorf("%d calls still wait", n)
	}
}

const canElicit = `{"elicitation":{"form":{},"url":{}}}`

// ask sends a modern request for a tool past any SDK.
func (r *rig) ask(t *testing.T, tool, caps, more string) map[string]json.RawMessage {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"a":1, "b":[2]},%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}}}`, tool, more, caps)
	_, answer := r.do(t, "POST", r.url, body, modernHeader("tools/call", tool))
	return answerOf(t, answer)
}

// required is what a server needs to know.
type required struct {
	ResultType    string
	InputRequests map[string]any
	RequestState  string
}

func requiredOf(t *testing.T, answer map[string]json.RawMessage) required {
	t.Helper()
	var r required
	if json.Unmarshal(answer["result"], &r) != nil || r.ResultType != "input_required" || r.RequestState == "" || len(r.InputRequests) == 0 {
		t.Fatalf("answer = %s %s, want questions", answer["result"], answer["error"])
	}
	return r
}

// accepting answers all questions that there were, which are for a name.
func accepting(r required) string {
	answers := map[string]any{}
	for key := range r.InputRequests {
		answers[key] = map[string]any{"action": "accept", "content": map[string]any{"name": "ann"}}
	}
	return answering(r.RequestState, answers)
}

// answering is what a retry has besides the request.
func answering(state string, answers map[string]any) string {
	b, err := json.Marshal(answers)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`"requestState":%q,"inputResponses":%s,`, state, b)
}

// TestAnAnswerThatIsNotTheCallsIsRefused tries states that the bridge did not give for the call before
// the right one, which must still be taken.
func TestAnAnswerThatIsNotTheCallsIsRefused(t *testing.T) {
	t.Parallel()
	q := newInquisitive(t)
	r := newRig(t, fast, q.Server)
	asked := requiredOf(t, r.ask(t, methods.Elicit, canElicit, ""))
	if busy := r.bridge.Health().Busy; busy != 1 {
		t.Errorf("busy = %d with a parked call, want 1", busy)
	}
	other := newRig(t, fast, q.Server)
	foreign := requiredOf(t, other.ask(t, methods.Elicit, canElicit, ""))
	right := accepting(asked)
	for name, of := range map[string][2]string{
		"one for another tool":  {"rounds", right},
		"one of another bridge": {methods.Elicit, accepting(foreign)},
		"a forged one":          {methods.Elicit, strings.Replace(right, asked.RequestState[:9], "AQIBAAAAB", 1)},
		"one that is cut off":   {methods.Elicit, answering(asked.RequestState[:40], nil)},
	} {
		if answer := r.ask(t, of[0], canElicit, of[1]); !strings.Contains(string(answer["error"]), "request_state_invalid") {
			t.Errorf("%s: answer = %s %s", name, answer["result"], answer["error"])
		}
	}
	if answer := r.ask(t, methods.Elicit, canElicit, right); !strings.Contains(string(answer["result"]), "ann") {
		t.Errorf("the right answer is answered with %s", answer["error"])
	}
	if n := q.begun.Load(); n != 2 { // once through each bridge
		t.Errorf("the tool was called %d times", n)
	}
}

func TestARestartedBridgeSaysSo(t *testing.T) {
	t.Parallel()
	q := newInquisitive(t)
	h := newHouse(t, q.Server)
	asked := requiredOf(t, h.ask(t, methods.Elicit, canElicit, ""))
	h.move(t)
	answer := h.ask(t, methods.Elicit, canElicit, accepting(asked))
	if !strings.Contains(string(answer["error"]), "the bridge has restarted") {
		t.Errorf("answer = %s %s", answer["result"], answer["error"])
	}
}

// TestACancelledRetryEndsTheCall leaves while the call goes on.
func TestACancelledRetryEndsTheCall(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	again, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	rawTool(s, "t", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := questions[methods.Elicit](ctx, req.Session); err != nil {
			return nil, err
		}
		again <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	client := r.connect(t, "modern", asking("ann"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-again
		cancel()
	}()
	if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "t"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	next(t, ended, "cancellation at the server")
}

// TestAModernServersStateIsItsOwn has a state pass that the bridge did not give.
func TestAModernServersStateIsItsOwn(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	rawTool(s, "t", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("state %s", req.Params.RequestState), nil
	})
	upstream := serveMCP(t, s, "modern")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	if answer := r.ask(t, "t", canElicit, answering("its own", nil)); !strings.Contains(string(answer["result"]), "state its own") {
		t.Errorf("answer = %s %s", answer["result"], answer["error"])
	}
}

// TestProgressAndMessagesAreThoseOfTheRequestThatWaits sends each request of one
// call with other wishes.
func TestProgressAndMessagesAreThoseOfTheRequestThatWaits(t *testing.T) {
	t.Parallel()
	s := emptyServer(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}})
	rawTool(s, "t", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 5 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
			_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "said"})
			if _, err := questions[methods.Elicit](ctx, req.Session); err != nil {
				return nil, err
			}
		}
		return said("done"), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	more := ""
	for i, tt := range []struct {
		meta     string
		progress string // the token that comes back
		message  bool
	}{
		{``, ``, false},
		{`"progressToken":"a",`, `"a"`, false},
		{`"progressToken":7,"io.modelcontextprotocol/logLevel":"debug",`, `7`, true},
		{`"io.modelcontextprotocol/logLevel":"error",`, ``, false},
		{`"progressToken":"b","io.modelcontextprotocol/logLevel":"info",`, `"b"`, true},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t",%s"_meta":{%s"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}}}`, more, tt.meta, canElicit)
		_, answer := r.do(t, "POST", r.url, body, modernHeader("tools/call", "t"))
		if strings.Contains(answer, methods.Progress) != (tt.progress != "") || !strings.Contains(answer, `"progressToken":`+tt.progress) && tt.progress != "" {
			t.Errorf("request %d: progress comes as %s, want token %q", i, answer, tt.progress)
		}
		if strings.Contains(answer, methods.LogMessage) != tt.message {
			t.Errorf("request %d: the messages are %s, want some: %v", i, answer, tt.message)
		}
		more = accepting(requiredOf(t, answerOf(t, answer)))
	}
}
