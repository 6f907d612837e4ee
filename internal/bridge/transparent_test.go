// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// inAllEras runs a test for each combination of a client's and a server's era. The
// test gives its server to start, which returns a bridge before it.
func inAllEras(t *testing.T, test func(t *testing.T, start func(*mcp.Server) *rig, clientEra, serverEra string)) {
	t.Helper()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			for _, kind := range kinds {
				if kind == bridgeconfig.SSE && serverEra == "modern" {
					continue // There is no such transport.
				}
				t.Run(clientEra+" client and "+serverEra+" server over "+string(kind), func(t *testing.T) {
					t.Parallel()
					test(t, func(s *mcp.Server) *rig { return newRig(t, fast, serveOver(t, kind, s, serverEra)) }, clientEra, serverEra)
				})
			}
		}
	}
}

// next returns the next value of c, or fails.
func next[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(wait.Limit):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// rawTool adds a tool with a handler that sees the whole request.
func rawTool(s *mcp.Server, name string, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, h)
}

// hangingTool adds the tool hang, which works until its call is cancelled, and tells of both.
func hangingTool(s *mcp.Server) (began, ended chan struct{}) {
	began, ended = make(chan struct{}, 1), make(chan struct{}, 1)
	rawTool(s, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	})
	return began, ended
}

func emptyServer(opts *mcp.ServerOptions) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, opts)
}

func said(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// TestProgressArrivesInOrderBeforeTheResult uses two clients with the same
// token, which a shared connection must tell apart.
func TestProgressArrivesInOrderBeforeTheResult(t *testing.T) {
	t.Parallel()
	const steps = 20
	build := func() *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, "work", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range steps {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Message: string(req.Params.Arguments),
				})
				if err != nil {
					return nil, err
				}
			}
			return said("done"), nil
		})
		return s
	}
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		r := start(build())
		var waiting sync.WaitGroup
		for _, who := range []string{"a", "b"} {
			var mu sync.Mutex
			var got []string
			client := r.connect(t, clientEra, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprintf("%v %v %s", req.Params.ProgressToken, req.Params.Progress, req.Params.Message))
				},
			})
			waiting.Go(func() {
				params := &mcp.CallToolParams{Name: "work", Arguments: map[string]string{"who": who}}
				params.SetProgressToken("same")
				if _, err := client.CallTool(t.Context(), params); err != nil {
					t.Error(err)
				}
				// The client handles notifications beside results, so the last
				// may still be on its way within the client.
				wait.Until(t, "all progress", func() bool {
					mu.Lock()
					defer mu.Unlock()
					return len(got) == steps
				})
				mu.Lock()
				defer mu.Unlock()
				for i, g := range got {
					if want := fmt.Sprintf(`same %d {"who":"%s"}`, i, who); g != want {
						t.Errorf("progress %d = %s, want %s", i, g, want)
					}
				}
			})
		}
		waiting.Wait()
	})
}

func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		started, ended := make(chan struct{}, 1), make(chan error, 1)
		s := emptyServer(nil)
		rawTool(s, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			started <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		rawTool(s, "quick", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("ok"), nil })
		client := start(s).connect(t, clientEra, nil)
		ctx, cancel := context.WithCancel(t.Context())
		called := make(chan error, 1)
		go func() {
			_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "hang"})
			called <- err
		}()
		next(t, started, "call at the server")
		cancel()
		if err := next(t, ended, "cancellation at the server"); !errors.Is(err, context.Canceled) {
			t.Errorf("the server's context ends with %v", err)
		}
		if err := next(t, called, "return at the client"); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want cancelled", err)
		}
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "quick"}); err != nil {
			t.Errorf("the next call fails: %v", err)
		}
	})
}

func TestPromptsResourcesAndCompletion(t *testing.T) {
	t.Parallel()
	build := func() *mcp.Server {
		s := emptyServer(&mcp.ServerOptions{
			CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Ref.Name + req.Params.Argument.Value}}}, nil
			},
		})
		s.AddPrompt(&mcp.Prompt{Name: "hello"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi " + req.Params.Arguments["to"]}}}}, nil
		})
		read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "text of " + req.Params.URI}}}, nil
		}
		s.AddResource(&mcp.Resource{Name: "a", URI: "file:///a"}, read)
		s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "any", URITemplate: "item://{id}"}, read)
		return s
	}
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, _ string) {
		r := start(build())
		ctx := t.Context()
		client := r.connect(t, clientEra, nil)
		prompt, err := client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "hello", Arguments: map[string]string{"to": "you"}})
		if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "hi you" {
			t.Errorf("prompt = %+v, %v", prompt, err)
		}
		for _, uri := range []string{"file:///a", "item://7"} {
			res, err := client.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil || res.Contents[0].Text != "text of "+uri {
				t.Errorf("resource %s = %+v, %v", uri, res, err)
			}
			if clientEra == "modern" && err == nil && res.CacheScope != "private" {
				t.Errorf("cacheScope = %q, want private", res.CacheScope)
			}
		}
		templates, err := client.ListResourceTemplates(ctx, nil)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Errorf("templates = %+v, %v", templates, err)
		}
		completed, err := client.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "hello"},
			Argument: mcp.CompleteParamsArgument{Name: "to", Value: "y"},
		})
		if err != nil || completed.Completion.Values[0] != "helloy" {
			t.Errorf("completion = %+v, %v", completed, err)
		}
	})
}
