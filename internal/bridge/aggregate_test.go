// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// richServer lists one of everything with all that can be said of it.
func richServer(scheme string) (*mcp.Server, *mcp.Tool, *mcp.Prompt, *mcp.Resource, *mcp.ResourceTemplate) {
	icons := []mcp.Icon{{Source: "https://example.com/i.png"}}
	tool := &mcp.Tool{
		Name: "all", Title: "All", Description: "everything", Icons: icons, Meta: mcp.Meta{"example.com/x": "y"},
		InputSchema:  map[string]any{"type": "object", "$defs": map[string]any{"x": map[string]any{"$anchor": "y"}}},
		OutputSchema: map[string]any{"type": "object", "required": []any{"n"}},
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true, Title: "All of it"},
	}
	prompt := &mcp.Prompt{
		Name: "say", Title: "Say", Description: "says it", Icons: icons, Meta: mcp.Meta{"example.com/x": "y"},
		Arguments: []*mcp.PromptArgument{{Name: "what", Title: "What", Description: "what to say", Required: true}},
	}
	resource := &mcp.Resource{
		Name: "r", Title: "R", Description: "a resource", URI: scheme + ":r", MIMEType: "text/plain", Size: 7, Icons: icons,
		Meta: mcp.Meta{"example.com/x": "y"}, Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5},
	}
	template := &mcp.ResourceTemplate{
		Name: "t", Title: "T", Description: "a template", URITemplate: scheme + "://items/{id}", MIMEType: "text/plain", Icons: icons,
		Meta: mcp.Meta{"example.com/x": "y"}, Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}, Priority: 0.25},
	}
	s := emptyServer(nil)
	s.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"}},
			StructuredContent: map[string]any{"n": 1.5},
		}, nil
	})
	s.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: req.Params.Arguments["what"]}}}}, nil
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Blob: []byte{0, 255}, MIMEType: "image/png"}}}, nil
	}
	s.AddResource(resource, read)
	s.AddResourceTemplate(template, read)
	return s, tool, prompt, resource, template
}

func TestPromptsResourcesAnnotationsAndOutputSchemasPassThroughAggregation(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				rich, tool, prompt, resource, template := richServer("one")
				r := newRig(t, fast, served(t, "one", rich, serverEra), served(t, "two", emptyServer(nil), "legacy"))
				client := r.connect(t, clientEra, nil)
				ctx := t.Context()
				tools := must.Value(client.ListTools(ctx, nil))(t)
				prompts := must.Value(client.ListPrompts(ctx, nil))(t)
				resources := must.Value(client.ListResources(ctx, nil))(t)
				templates := must.Value(client.ListResourceTemplates(ctx, nil))(t)
				// Copies, since the server may list its own at any time.
				prefixedTool, prefixedPrompt := *tool, *prompt
				prefixedTool.Name, prefixedPrompt.Name = "one_all", "one_say"
				alike(t, "tools", []*mcp.Tool{&prefixedTool}, tools.Tools)
				alike(t, "prompts", []*mcp.Prompt{&prefixedPrompt}, prompts.Prompts)
				alike(t, "resources", []*mcp.Resource{resource}, resources.Resources)
				alike(t, "templates", []*mcp.ResourceTemplate{template}, templates.ResourceTemplates)
				if clientEra == "modern" {
					alike(t, "who may keep the lists", []string{"private", "private", "private", "private"},
						[]string{tools.CacheScope, prompts.CacheScope, resources.CacheScope, templates.CacheScope})
				}
				result := must.Value(client.CallTool(ctx, &mcp.CallToolParams{Name: "one_all"}))(t)
				alike[any](t, "structured content", map[string]any{"n": 1.5}, result.StructuredContent)
				alike(t, "content", []mcp.Content{&mcp.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"}}, result.Content)
				said, err := client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "one_say", Arguments: map[string]string{"what": "it"}})
				if err != nil {
					t.Fatal(err)
				}
				alike(t, "prompt", []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "it"}}}, said.Messages)
				for _, uri := range []string{"one:r", "one://items/7"} {
					read := must.Value(client.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}))(t)
					alike(t, uri, []*mcp.ResourceContents{{URI: uri, Blob: []byte{0, 255}, MIMEType: "image/png"}}, read.Contents)
				}
			})
		}
	}
}

func alike[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSubscriptionsAtSeveralServers(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for _, mode := range []bridgeconfig.Mode{bridgeconfig.Direct, bridgeconfig.Router} {
			t.Run(clientEra+" client in mode "+string(mode), func(t *testing.T) {
				t.Parallel()
				subscribed := make(chan string, 16)
				ended := make(chan string, 16)
				build := func(name string) *mcp.Server {
					s := emptyServer(&mcp.ServerOptions{
						SubscribeHandler: func(_ context.Context, req *mcp.SubscribeRequest) error {
							subscribed <- name + " " + req.Params.URI
							return nil
						},
						UnsubscribeHandler: func(_ context.Context, req *mcp.UnsubscribeRequest) error {
							ended <- name + " " + req.Params.URI
							return nil
						},
					})
					s.AddResource(&mcp.Resource{Name: name, URI: name + ":a"}, nil)
					s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: name + "://{id}"}, nil)
					return s
				}
				one, two := build("one"), build("two")
				r := newRigOf(t, fast, bridgeconfig.Config{Mode: mode, Servers: []bridgeconfig.Server{served(t, "one", one, "legacy"), served(t, "two", two, "modern")}})
				updated := make(chan string, 4096)
				client := r.connect(t, clientEra, &mcp.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
				})
				for _, uri := range []string{"one:a", "two:a", "one://7"} {
					must.Succeed(t, client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}))
					// A connection that was made meanwhile repeats subscriptions.
					for next(t, subscribed, "subscription of "+uri) != uri[:3]+" "+uri {
					}
				}
				for uri, s := range map[string]*mcp.Server{"one:a": one, "two:a": two, "one://7": one} {
					wait.Until(t, "an update of "+uri, func() bool {
						if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
							t.Error(err)
						}
						for len(updated) > 0 {
							if <-updated == uri {
								return true
							}
						}
						return false
					})
				}
				must.Succeed(t, client.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "two:a"}))
				if got := next(t, ended, "end of a subscription"); got != "two two:a" {
					t.Errorf("unsubscribed %s", got)
				}
				if err := client.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "nobody:a"}); err == nil && clientEra == "legacy" {
					t.Error("a resource that nobody has can be subscribed to")
				}
			})
		}
	}
}

func TestCompletionWithSeveralServersInModeRouter(t *testing.T) {
	t.Parallel()
	r := newRouter(t, served(t, "one", fullServer("one", "a"), "legacy"), served(t, "two", fullServer("two", "b"), "modern"))
	for clientEra := range eraNames {
		client := r.connect(t, clientEra, nil)
		for _, ref := range []*mcp.CompleteReference{
			{Type: "ref/prompt", Name: "two_hello"}, {Type: "ref/resource", URI: "b://items/{id}"}, {Type: "ref/resource", URI: "test:two"},
		} {
			got, err := client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "x"}})
			if err != nil || got.Completion.Values[0] != "two" || !strings.HasSuffix(ref.Name+ref.URI, got.Completion.Values[1]) {
				t.Errorf("%s client: completion of %+v = %+v, %v", clientEra, ref, got, err)
			}
		}
	}
}
