// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// slowServer is a server with the tool t that is granted a secret. The handler
// works on a call of which the test knows, and of whose session's end.
type slowServer struct {
	bridgeconfig.Server
	began chan *mcp.ServerSession
	ended chan struct{} // receives when a session ended in which the tool was called
}

func newSlowServer(t *testing.T, eraName string, work mcp.ToolHandler) *slowServer {
	t.Helper()
	s := emptyServer(nil)
	w := &slowServer{began: make(chan *mcp.ServerSession, 4), ended: make(chan struct{}, 4)}
	rawTool(s, "t", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			go func() {
				_ = req.Session.Wait()
				w.ended <- struct{}{}
			}()
			w.began <- req.Session
		}
		return work(ctx, req)
	})
	server := serveMCP(t, s, eraName)
	t.Cleanup(server.Close)
	w.Server = bridgeconfig.Server{Name: "one", URL: server.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}}
	return w
}

// outcomeOf calls the tool t in the background.
func outcomeOf(t *testing.T, client *mcp.ClientSession) <-chan string {
	t.Helper()
	answers := make(chan string, 1)
	go func() {
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- result.Content[0].(*mcp.TextContent).Text
	}()
	return answers
}

// questions are the ways in which a legacy server asks its client.
var questions = map[string]func(context.Context, *mcp.ServerSession) (any, error){
	methods.Elicit: func(ctx context.Context, ss *mcp.ServerSession) (any, error) {
		answer, err := ss.Elicit(ctx, &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema})
		if err != nil {
			return nil, err
		}
		return answer.Content["name"], nil
	},
	methods.CreateMessage: func(ctx context.Context, ss *mcp.ServerSession) (any, error) {
		answer, err := ss.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		return answer.Model + " on it", nil
	},
	methods.ListRoots: func(ctx context.Context, ss *mcp.ServerSession) (any, error) {
		answer, err := ss.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		return fmt.Sprintf("ann on it, with %d roots", len(answer.Roots)), nil
	},
}

// TestACallThatIsInFlightWhenItsSecretChangesMayAsk changes the secret between
// the beginning of a call and the server's question.
func TestACallThatIsInFlightWhenItsSecretChangesMayAsk(t *testing.T) {
	t.Parallel()
	for method, ask := range questions {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			changed, logged := make(chan struct{}), make(chan any, 4)
			w := newSlowServer(t, "legacy", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-changed
				answer, err := ask(ctx, req.Session)
				if err != nil {
					return nil, err
				}
				// Not in the call's answer, but in the session's own stream.
				if err := req.Session.Log(t.Context(), &mcp.LoggingMessageParams{Level: "info", Data: "by the way"}); err != nil {
					return nil, err
				}
				select {
				case <-logged:
					return said("%v", answer), nil
				case <-time.After(wait.Limit):
					return said("the client got no log message"), nil
				}
			})
			r := newRig(t, fast, w.Server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
			opts := asking("ann")
			opts.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) { logged <- req.Params.Data }
			client := r.connect(t, "legacy", opts)
			must.Succeed(t, client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}))
			answers := outcomeOf(t, client)
			next(t, w.began, "call")
			r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
			connected(t, r.bridge)
			if len(w.ended) > 0 {
				t.Error("the connection ended before the call")
			}
			close(changed)
			if got := next(t, answers, "answer"); !strings.HasPrefix(got, "ann on it") {
				t.Errorf("answer = %s", got)
			}
			next(t, w.ended, "end of the connection after the call")
		})
	}
}

// TestAModernServerMayAskWhenItsSecretChanges changes the secret between the
// rounds of a call.
func TestAModernServerMayAskWhenItsSecretChanges(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{})
	w := newSlowServer(t, "modern", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			<-changed
			return &mcp.CallToolResult{RequestState: "first", InputRequests: mcp.InputRequestMap{
				"who": &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema},
			}}, nil
		}
		return said("%v", req.Params.InputResponses["who"].(*mcp.ElicitResult).Content["name"]), nil
	})
	for clientEra := range eraNames {
		r := newRig(t, fast, w.Server)
		r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
		answers := outcomeOf(t, r.connect(t, clientEra, asking("ann")))
		next(t, w.began, "call")
		r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
		connected(t, r.bridge)
		changed <- struct{}{}
		if got := next(t, answers, "answer"); got != "ann on it" {
			t.Errorf("a %s client's answer = %s", clientEra, got)
		}
	}
}

// TestAServerThatMayNotAskIsToldSoWhenItsSecretChanges has a legacy server ask a
// modern client that answers nothing.
func TestAServerThatMayNotAskIsToldSoWhenItsSecretChanges(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{})
	w := newSlowServer(t, "legacy", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-changed
		_, err := questions[methods.ListRoots](ctx, req.Session)
		return said("%v", err), nil
	})
	r := newRig(t, fast, w.Server)
	r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
	answers := outcomeOf(t, r.connect(t, "modern", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}))
	next(t, w.began, "call")
	r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
	connected(t, r.bridge)
	close(changed)
	if got := next(t, answers, "answer"); !strings.Contains(got, `"roots/list" is not supported`) {
		t.Errorf("answer = %s, want that the server was refused", got)
	}
	next(t, w.ended, "end of the connection after the call")
}

func TestAnIdleConnectionEndsWhenItsSecretChanges(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			w := newSlowServer(t, "legacy", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return said("done"), nil
			})
			r := newRig(t, fast, w.Server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
			next(t, outcomeOf(t, r.connect(t, clientEra, nil)), "answer")
			r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
			next(t, w.ended, "end of the connection")
		})
	}
}

// TestACallDoesNotKeepAFormerSecretForEver has a call never end, once at the
// server and once at the client that it asks.
func TestACallDoesNotKeepAFormerSecretForEver(t *testing.T) {
	t.Parallel()
	brief := fast
	brief.Grace = 50 * time.Millisecond
	for _, where := range []string{"server", "client"} {
		for clientEra := range eraNames {
			if where == "client" && clientEra == "modern" {
				continue // It is not asked by a legacy server.
			}
			t.Run("a "+clientEra+" client's at the "+where, func(t *testing.T) {
				t.Parallel()
				asked := make(chan struct{})
				w := newSlowServer(t, "legacy", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if where == "client" {
						_, err := questions[methods.Elicit](context.WithoutCancel(ctx), req.Session)
						return nil, err
					}
					close(asked)
					<-ctx.Done()
					return nil, ctx.Err()
				})
				over := make(chan struct{})
				defer close(over)
				r := newRig(t, brief, w.Server)
				r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
				answers := outcomeOf(t, r.connect(t, clientEra, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						close(asked)
						<-over
						return &mcp.ElicitResult{Action: "cancel"}, nil
					},
				}))
				next(t, w.began, "call")
				next(t, asked, "question")
				r.bridge.UseSecrets(secretsOf("r2", "TOKEN", "second-token"))
				if got := next(t, answers, "answer"); !strings.Contains(got, fault.ErrStale.Error()) {
					t.Errorf("answer = %s, want one that says why", got)
				}
				next(t, w.ended, "end of the connection")
			})
		}
	}
}
