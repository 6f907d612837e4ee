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
)

// fullServer has one of everything, which tells its name.
func fullServer(name, scheme string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		Instructions: "say " + name,
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{name, req.Params.Ref.Name + req.Params.Ref.URI}}}, nil
		},
	})
	rawTool(s, "who", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("%s", name), nil })
	s.AddPrompt(&mcp.Prompt{Name: "hello"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: name, Messages: []*mcp.PromptMessage{}}, nil
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: name}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "shared", URI: "test://shared"}, read)
	s.AddResource(&mcp.Resource{Name: "own", URI: "test:" + strings.ReplaceAll(name, " ", "-")}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "any", URITemplate: scheme + "://items/{id}"}, read)
	return s
}

func TestSeveralServersWithTheSameNames(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var servers []bridgeconfig.Server
			// The first two servers' names become equal.
			for i, name := range []string{"my files", "my.files", "other"} {
				upstream := serveMCP(t, fullServer(name, []string{"a", "b", "c"}[i]), []string{"legacy", "modern", "legacy"}[i])
				t.Cleanup(upstream.Close)
				servers = append(servers, bridgeconfig.Server{Name: name, URL: upstream.URL})
			}
			r := newRig(t, fast, servers...)
			client := r.connect(t, clientEra, nil)
			checkTools(t, client, clientEra)
			checkPrompts(t, client)
			checkResources(t, client)
			if got, want := client.InitializeResult().ServerInfo.Name, "hosted-bridge"; got != want {
				t.Errorf("the server is %s, want %s", got, want)
			}
		})
	}
}

func checkTools(t *testing.T, client *mcp.ClientSession, clientEra string) {
	t.Helper()
	want := map[string]string{"my_files_who": "my files", "my_files_who_2": "my.files", "other_who": "other"}
	tools := must.Value(client.ListTools(t.Context(), nil))(t)
	if clientEra == "modern" && (tools.CacheScope != "private" || tools.TTLMs != 0) {
		t.Errorf("the list may be kept by %q for %d ms", tools.CacheScope, tools.TTLMs)
	}
	got := map[string]string{}
	for _, tool := range tools.Tools {
		result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name}))(t)
		got[tool.Name] = text(t, result)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools and whose they are (-want +got):\n%s", diff)
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "who"}); err == nil {
		t.Error("a tool is found without its prefix")
	}
}

func checkPrompts(t *testing.T, client *mcp.ClientSession) {
	t.Helper()
	want := map[string]string{"my_files_hello": "my files", "my_files_hello_2": "my.files", "other_hello": "other"}
	prompts, err := client.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != len(want) {
		t.Fatalf("prompts = %+v, %v", prompts, err)
	}
	for name, server := range want {
		prompt, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
		if err != nil || prompt.Description != server {
			t.Errorf("prompt %s = %+v, %v, want that of %s", name, prompt, err, server)
		}
		completed, err := client.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: name},
			Argument: mcp.CompleteParamsArgument{Name: "x"},
		})
		if err != nil || !cmp.Equal(completed.Completion.Values, []string{server, "hello"}) {
			t.Errorf("completion for %s = %+v, %v", name, completed, err)
		}
	}
}

func checkResources(t *testing.T, client *mcp.ClientSession) {
	t.Helper()
	resources, err := client.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 4 {
		t.Fatalf("resources = %+v, %v, want the shared one once and each server's own", resources, err)
	}
	for uri, server := range map[string]string{
		"test://shared": "my files",
		"test:other":    "other",
		"test:my.files": "my.files",
		"a://items/1":   "my files",
		"b://items/1":   "my.files",
		"c://items/1":   "other",
	} {
		read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || read.Contents[0].Text != server {
			t.Errorf("resource %s = %+v, %v, want that of %s", uri, read, err, server)
		}
	}
	if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "nobody://1"}); err == nil {
		t.Error("a resource that nobody has is read")
	}
	completed, err := client.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "b://items/{id}"},
		Argument: mcp.CompleteParamsArgument{Name: "id"},
	})
	if err != nil || completed.Completion.Values[0] != "my.files" {
		t.Errorf("completion of a template = %+v, %v", completed, err)
	}
}

func TestABridgeWithoutServers(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			client := newRig(t, fast).connect(t, clientEra, nil)
			tools, err := client.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 0 {
				t.Errorf("tools = %+v, %v, want none", tools, err)
			}
			if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err == nil {
				t.Error("a tool of no server answered")
			}
		})
	}
}
