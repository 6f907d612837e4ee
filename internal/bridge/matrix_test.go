// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// matrixServer has a tool for each way in which a server speaks to its client. A
// server asks in its era's way: in the middle of the work, or by an answer that
// the client comes back with.
func matrixServer(t *testing.T, ended chan<- error) *mcp.Server {
	t.Helper()
	s := emptyServer(nil)
	asks := map[string]mcp.InputRequest{
		"form":   &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema},
		"url":    &mcp.ElicitParams{Mode: "url", URL: "https://example.com/login", ElicitationID: "e1", Message: "log in"},
		"sample": &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "q"}}}},
		"tools": &mcp.CreateMessageWithToolsParams{
			MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "q"}}}},
			Tools: []*mcp.Tool{{Name: "inner", InputSchema: map[string]any{"type": "object"}}},
		},
		"roots": &mcp.ListRootsParams{},
	}
	for name, ask := range asks {
		rawTool(s, name, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Session.InitializeParams().ProtocolVersion < message.FirstModernVersion {
				return askNow(ctx, req.Session, ask)
			}
			response, ok := req.Params.InputResponses["q"]
			if !ok {
				return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"q": ask}}, nil
			}
			return repeated(response), nil
		})
	}
	rawTool(s, "progress", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("done"), req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 0.5})
	})
	rawTool(s, "log", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, level := range []mcp.LoggingLevel{"debug", "warning"} {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Data: "by the way"}); err != nil {
				return nil, err
			}
		}
		return said("done"), nil
	})
	rawTool(s, "cancel", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 0.5})
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	return s
}

// askNow asks the client in the middle of the work.
func askNow(ctx context.Context, ss *mcp.ServerSession, ask mcp.InputRequest) (*mcp.CallToolResult, error) {
	var answer mcp.InputResponse
	var err error
	switch p := ask.(type) {
	case *mcp.ElicitParams:
		answer, err = ss.Elicit(ctx, p)
		if err == nil && p.Mode == "url" {
			err = ss.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: p.ElicitationID})
		}
	case *mcp.CreateMessageParams:
		answer, err = ss.CreateMessage(ctx, p)
	case *mcp.CreateMessageWithToolsParams:
		answer, err = ss.CreateMessageWithTools(ctx, p)
	case *mcp.ListRootsParams:
		answer, err = ss.ListRoots(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return repeated(answer), nil
}

// repeated is a result that repeats what a client answered.
func repeated(answer mcp.InputResponse) *mcp.CallToolResult {
	switch a := answer.(type) {
	case *mcp.ElicitResult:
		return said("%s %v", a.Action, a.Content["name"])
	case *mcp.CreateMessageResult:
		return said("%s", a.Model)
	case *mcp.CreateMessageWithToolsResult:
		use, ok := a.Content[0].(*mcp.ToolUseContent)
		if !ok {
			return said("%s", a.Model)
		}
		return said("%s uses %s and %d more", a.Model, use.Name, len(a.Content)-1)
	case *mcp.ListRootsResult:
		return said("%s", a.Roots[0].URI)
	}
	return said("unknown %T", answer)
}

// matrixClient answers everything, and notes what it is told.
func matrixClient(heard chan<- string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Sampling:    &mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.Mode == "url" {
				heard <- req.Params.URL
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann on " + req.Params.Message}}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			heard <- "complete " + req.Params.ElicitationID
		},
		CreateMessageWithToolsHandler: func(_ context.Context, req *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
			answer := &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "thought"}}}
			if len(req.Params.Tools) > 0 {
				use := &mcp.ToolUseContent{ID: "1", Name: req.Params.Tools[0].Name, Input: map[string]any{}}
				answer.Content = []mcp.Content{use, &mcp.ToolUseContent{ID: "2", Name: use.Name, Input: map[string]any{}}}
			}
			return answer, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			heard <- fmt.Sprint("progress ", req.Params.Progress)
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			heard <- fmt.Sprint(req.Params.Level, " ", req.Params.Data)
		},
	}
}

// TestEverythingThatAServerMaySay tries all of it for all eras, on all ways to
// the bridge.
func TestEverythingThatAServerMaySay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ want, heard string }{
		"form":     {"accept ann on it", ""},
		"url":      {"accept <nil>", "https://example.com/login"},
		"sample":   {"m", ""},
		"tools":    {"m uses inner and 1 more", ""},
		"roots":    {"file:///r", ""},
		"progress": {"done", "progress 0.5"},
		"log":      {"done", "warning by the way"},
	}
	inAllEras(t, func(t *testing.T, start func(*mcp.Server) *rig, clientEra, serverEra string) {
		ended := make(chan error, 16)
		r := start(matrixServer(t, ended))
		connections := map[string]func(*mcp.ClientOptions) *mcp.ClientSession{
			"http":  func(o *mcp.ClientOptions) *mcp.ClientSession { return rooted(t, r, clientEra, o) },
			"stdio": func(o *mcp.ClientOptions) *mcp.ClientSession { return r.connectStdio(t, clientEra, o) },
		}
		if clientEra == "legacy" {
			connections["sse"] = func(o *mcp.ClientOptions) *mcp.ClientSession { return r.connectSSE(t, "2025-11-25", o) }
		}
		for way, connect := range connections {
			heard := make(chan string, 16)
			client := connect(matrixClient(heard))
			if clientEra == "legacy" {
				must.Succeed(t, client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "warning"}))
			}
			for tool, tt := range tests {
				if tool == "roots" && way != "http" {
					continue // Only that client has roots.
				}
				params := &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{"progressToken": "mine"}}
				if clientEra == "modern" {
					params.Meta[message.MetaLogLevel] = "warning"
				}
				result, err := client.CallTool(t.Context(), params)
				if err != nil {
					t.Errorf("%s, %s: %v", way, tool, err)
					continue
				}
				if got := text(t, result); got != tt.want {
					t.Errorf("%s, %s = %s, want %s", way, tool, got, tt.want)
				}
				if tt.heard != "" {
					if got := next(t, heard, tool); got != tt.heard {
						t.Errorf("%s, %s: the client hears %s, want %s", way, tool, got, tt.heard)
					}
				}
				if tool == "url" && serverEra == "legacy" {
					if got := next(t, heard, "word that the login is complete"); got != "complete e1" {
						t.Errorf("%s: the client hears %s", way, got)
					}
				}
			}
			leaveCall(t, client, heard, ended)
			_ = client.Close()
		}
	})
}

// rooted connects a client that has a root.
func rooted(t *testing.T, r *rig, eraName string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	client.AddRoots(&mcp.Root{URI: "file:///r"})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.http},
		&mcp.ClientSessionOptions{ProtocolVersion: eraNames[eraName]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// leaveCall calls a tool and cancels the call.
func leaveCall(t *testing.T, client *mcp.ClientSession, heard <-chan string, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "cancel", Meta: mcp.Meta{"progressToken": "mine"}})
		called <- err
	}()
	next(t, heard, "beginning of the call")
	cancel()
	if err := next(t, ended, "cancellation at the server"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call at the server ended with %v", err)
	}
	if err := next(t, called, "return at the client"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}
