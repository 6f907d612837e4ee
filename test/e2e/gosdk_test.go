// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// goRun carries the steps out with the MCP Go SDK's client, as outsider.run has
// others do.
func (o outsider) goRun(t *testing.T, n tenant, asked task) (said, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	return o.goSteps(ctx, n, &goClient{asked: asked, whole: make(chan struct{}, 1)})
}

func (o outsider) goSteps(ctx context.Context, n tenant, g *goClient) (said, error) {
	session, err := g.connect(ctx, n, o)
	if err != nil {
		return said{}, fmt.Errorf("%s: connect: %w", o.name, err)
	}
	defer session.Close()
	s := said{Version: session.InitializeResult().ProtocolVersion}
	for _, name := range g.asked.Steps {
		if err := g.step(ctx, session, name, &s); err != nil {
			return said{}, fmt.Errorf("%s: %s: %w", o.name, name, err)
		}
	}
	return s, nil
}

// goClient is what the client does when its server speaks.
type goClient struct {
	asked task
	// login logs a person in; nil where the tenant's key is used.
	login auth.OAuthHandler

	mu       sync.Mutex
	progress []float64
	// whole gets something with the last word of it.
	whole chan struct{}
	// began is called with the first word of progress.
	began func()
}

func (g *goClient) connect(ctx context.Context, n tenant, o outsider) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e-go", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			for name, value := range g.asked.Answer {
				content[name] = value
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.progress = append(g.progress, r.Params.Progress)
			if g.began != nil {
				g.began()
			}
			if r.Params.Progress == r.Params.Total {
				select {
				case g.whole <- struct{}{}:
				default:
				}
			}
		},
	})
	if g.login != nil {
		return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: g.asked.URL, OAuthHandler: g.login},
			&mcp.ClientSessionOptions{ProtocolVersion: o.version})
	}
	http := newHTTPClient(true)
	http.Transport = bearer{key: n.key.secret, refused: &refusals{}, next: http.Transport}
	if o.path == "/sse" {
		return client.Connect(ctx, &mcp.SSEClientTransport{Endpoint: n.base() + o.path, HTTPClient: http}, nil)
	}
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: n.base() + o.path, HTTPClient: http},
		&mcp.ClientSessionOptions{ProtocolVersion: o.version})
}

func (g *goClient) step(ctx context.Context, session *mcp.ClientSession, name string, s *said) (err error) {
	switch name {
	case "list":
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		for _, tool := range list.Tools {
			s.List = append(s.List, tool.Name)
		}
	case "call":
		s.Call, err = goCall(ctx, session, &mcp.CallToolParams{Name: tool})
	case "prompt":
		prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "one", "arg2": "two"}})
		if err != nil {
			return err
		}
		s.Prompt = textIn(prompt.Messages[0].Content)
	case "resource":
		resource, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
		if err != nil {
			return err
		}
		s.Resource = resource.Contents[0].Text
	case "progress":
		params := &mcp.CallToolParams{Name: "test_tool_with_progress"}
		params.SetProgressToken("the go client's")
		if _, err = goCall(ctx, session, params); err != nil {
			return err
		}
		// The SDK returns the answer while what came before it still waits to be
		// told.
		select {
		case <-g.whole:
		case <-time.After(wait.Limit):
		}
		g.mu.Lock()
		s.Progress = g.progress
		g.mu.Unlock()
	case "elicit":
		arguments := map[string]any{}
		for name, value := range g.asked.Arguments {
			arguments[name] = value
		}
		s.Elicit, err = goCall(ctx, session, &mcp.CallToolParams{Name: g.asked.Elicit, Arguments: arguments})
	case "cancel":
		s.Cancel = g.cancel(ctx, session)
		// The SDK tells the server in the background, and not once it is closed.
		_, err = session.ListTools(ctx, nil)
	}
	return err
}

// cancel cancels a call as soon as its server tells of progress.
func (g *goClient) cancel(ctx context.Context, session *mcp.ClientSession) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	g.began = cancel
	g.mu.Unlock()
	params := &mcp.CallToolParams{Name: g.asked.Slow}
	params.SetProgressToken("to be cancelled")
	_, err := goCall(ctx, session, params)
	switch {
	case err == nil:
		return "answered"
	case ctx.Err() != nil:
		return "cancelled"
	default:
		return "failed"
	}
}

func goCall(ctx context.Context, session *mcp.ClientSession, params *mcp.CallToolParams) (string, error) {
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return "", err
	}
	if len(result.Content) == 0 {
		return "", fmt.Errorf("no content, isError %t", result.IsError)
	}
	return textIn(result.Content[0]), nil
}

func textIn(content mcp.Content) string {
	if text, ok := content.(*mcp.TextContent); ok {
		return text.Text
	}
	return fmt.Sprintf("a %T", content)
}
