// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// asking is a client's options by which it answers every question with name.
func asking(name string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name + " on " + req.Params.Message}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: name, Content: &mcp.TextContent{Text: "thought"}}, nil
		},
	}
}

var nameSchema = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}

// TestALegacyServerAsksTheClientThatCalled has two clients of one bridge call at
// once; each must be asked what concerns it.
func TestALegacyServerAsksTheClientThatCalled(t *testing.T) {
	t.Parallel()
	s := emptyServer(nil)
	rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: string(req.Params.Arguments), RequestedSchema: nameSchema})
		if err != nil {
			return nil, err
		}
		thought, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		roots, err := req.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		client := req.Session.InitializeParams().ClientInfo.Name
		return said("%v, %s, %s, %s", answer.Content["name"], thought.Model, roots.Roots[0].URI, client), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	var waiting sync.WaitGroup
	for _, name := range []string{"ann", "ben"} {
		client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, asking(name))
		client.AddRoots(&mcp.Root{URI: "file:///" + name})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.http},
			&mcp.ClientSessionOptions{ProtocolVersion: eraNames["legacy"]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		for i := range 5 {
			waiting.Go(func() {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: map[string]int{"call": i}})
				if err != nil {
					t.Error(err)
					return
				}
				want := fmt.Sprintf(`%s on {"call":%d}, %s, file:///%s, %s`, name, i, name, name, name)
				if got := text(t, result); got != want {
					t.Errorf("answer = %s, want %s", got, want)
				}
			})
		}
	}
	waiting.Wait()
}

// TestAModernServerAsksEveryClient covers both ways of asking: a modern client
// answers by sending the request again, and a legacy client is asked by the
// bridge.
func TestAModernServerAsksEveryClient(t *testing.T) {
	t.Parallel()
	build := func() *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, "ask", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			switch req.Params.RequestState {
			case "":
				return &mcp.CallToolResult{RequestState: "first", InputRequests: mcp.InputRequestMap{
					"who": &mcp.ElicitParams{Message: "round one", RequestedSchema: nameSchema},
				}}, nil
			case "first":
				name := req.Params.InputResponses["who"].(*mcp.ElicitResult).Content["name"]
				return &mcp.CallToolResult{RequestState: fmt.Sprint(name), InputRequests: mcp.InputRequestMap{
					"what": &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{}},
				}}, nil
			}
			model := req.Params.InputResponses["what"].(*mcp.CreateMessageWithToolsResult).Model
			return said("%s, %s", req.Params.RequestState, model), nil
		})
		return s
	}
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			upstream := serveMCP(t, build(), "modern")
			t.Cleanup(upstream.Close)
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
			client := r.connect(t, clientEra, asking("ann"))
			result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"}))(t)
			if got := text(t, result); got != "ann on round one, ann" {
				t.Errorf("answer = %s", got)
			}
		})
	}
}
