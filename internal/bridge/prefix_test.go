// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestPrefixesInModeDirect(t *testing.T) {
	t.Parallel()
	resources := []health.Renamed{{Kind: "resource", Server: "two", Original: "test://shared"}}
	tests := map[string]struct {
		prefix  bridgeconfig.Prefix
		tools   map[string]string // whose tool answers
		prompts []string
		renamed []health.Renamed
	}{
		"always": {bridgeconfig.PrefixAlways,
			map[string]string{"one_who": "one", "two_who": "two", "two_own": "two's own"}, []string{"one_hello", "two_hello"}, resources},
		"auto": {bridgeconfig.PrefixAuto,
			map[string]string{"one_who": "one", "two_who": "two", "own": "two's own"}, []string{"one_hello", "two_hello"},
			append([]health.Renamed{
				{Kind: "tool", Name: "one_who", Server: "one", Original: "who"}, {Kind: "tool", Name: "two_who", Server: "two", Original: "who"},
				{Kind: "prompt", Name: "one_hello", Server: "one", Original: "hello"}, {Kind: "prompt", Name: "two_hello", Server: "two", Original: "hello"},
			}, resources...)},
		"never": {bridgeconfig.PrefixNever,
			map[string]string{"who": "one", "who_2": "two", "own": "two's own"}, []string{"hello", "hello_2"},
			append([]health.Renamed{
				{Kind: "tool", Name: "who_2", Server: "two", Original: "who"}, {Kind: "prompt", Name: "hello_2", Server: "two", Original: "hello"},
			}, resources...)},
	}
	for name, tt := range tests {
		for clientEra := range eraNames {
			t.Run(name+" for a "+clientEra+" client", func(t *testing.T) {
				t.Parallel()
				two := fullServer("two", "b")
				rawTool(two, "own", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return said("two's own"), nil
				})
				r := newRigOf(t, fast, bridgeconfig.Config{ToolPrefix: tt.prefix, Servers: []bridgeconfig.Server{
					served(t, "one", fullServer("one", "a"), "legacy"), served(t, "two", two, "modern"),
				}})
				client := r.connect(t, clientEra, nil)
				got := map[string]string{}
				for _, tool := range toolNames(t, client) {
					result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
					got[tool] = text(t, result)
				}
				if diff := cmp.Diff(tt.tools, got); diff != "" {
					t.Errorf("tools and whose they are (-want +got):\n%s", diff)
				}
				prompts := must.Value(client.ListPrompts(t.Context(), nil))(t)
				var names []string
				for _, p := range prompts.Prompts {
					names = append(names, p.Name)
				}
				if diff := cmp.Diff(tt.prompts, names); diff != "" {
					t.Errorf("prompts (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.renamed, r.bridge.Health().Renamed); diff != "" {
					t.Errorf("renamed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestOneServersNamesStayWhateverThePrefix(t *testing.T) {
	t.Parallel()
	for _, prefix := range []bridgeconfig.Prefix{bridgeconfig.PrefixAlways, bridgeconfig.PrefixAuto, bridgeconfig.PrefixNever} {
		r := newRigOf(t, fast, bridgeconfig.Config{ToolPrefix: prefix, Servers: []bridgeconfig.Server{served(t, "one", fullServer("one", "a"), "legacy")}})
		if diff := cmp.Diff([]string{"who"}, toolNames(t, r.connect(t, "modern", nil))); diff != "" {
			t.Errorf("%s: tools (-want +got):\n%s", prefix, diff)
		}
	}
}

// TestTheFirstServerKeepsItsNamesWhenOthersCome has one client over all changes, to which each name
// means the same tool.
func TestTheFirstServerKeepsItsNamesWhenOthersCome(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra, func(t *testing.T) {
			t.Parallel()
			one, two := served(t, "one", fullServer("one", "a"), "legacy"), served(t, "two", fullServer("two", "b"), "modern")
			r := newRigOf(t, fast, bridgeconfig.Config{Servers: []bridgeconfig.Server{one}})
			client := r.connect(t, clientEra, nil)
			for step, want := range []struct {
				unprefixed *string
				servers    []bridgeconfig.Server
				tools      map[string]string // whose tool answers
			}{
				{nil, []bridgeconfig.Server{one}, map[string]string{"who": "one"}},
				{new("one"), []bridgeconfig.Server{one, two}, map[string]string{"who": "one", "two_who": "two"}},
				{new("one"), []bridgeconfig.Server{two}, map[string]string{"two_who": "two"}},
				{new("one"), []bridgeconfig.Server{one, two}, map[string]string{"who": "one", "two_who": "two"}},
			} {
				r.reconfigure(t, func(c *bridgeconfig.Config) { c.Unprefixed, c.Servers = want.unprefixed, want.servers })
				var got map[string]string
				wait.Until(t, "the tools of all servers", func() bool {
					got = map[string]string{}
					for _, tool := range toolNames(t, client) {
						result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
						if err != nil {
							return false
						}
						got[tool] = text(t, result)
					}
					return len(got) == len(want.tools)
				})
				if diff := cmp.Diff(want.tools, got); diff != "" {
					t.Errorf("step %d: tools and whose they are (-want +got):\n%s", step, diff)
				}
			}
		})
	}
}

func TestACallOfTheFirstServerSaysThatItIsNotAvailable(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, fast, bridgeconfig.Config{Unprefixed: new("one"), Servers: []bridgeconfig.Server{
		{Name: "one", URL: "https://one.example.com", Fault: "its recipe is gone"}, served(t, "two", fullServer("two", "b"), "modern"),
	}})
	client := r.connect(t, "modern", nil)
	if err := called(t, client, "who"); err == nil || !strings.Contains(err.Error(), "its recipe is gone") {
		t.Errorf("a name without a prefix: %v", err)
	}
	if err := called(t, client, "two_none"); err == nil {
		t.Error("a tool that no server has answers")
	}
}

func TestNamesStayWhileAServerIsAway(t *testing.T) {
	t.Parallel()
	for _, prefix := range []bridgeconfig.Prefix{bridgeconfig.PrefixAuto, bridgeconfig.PrefixNever} {
		t.Run(string(prefix), func(t *testing.T) {
			t.Parallel()
			upstream := serveMCP(t, echoServer("one"), "legacy")
			t.Cleanup(upstream.Close)
			r := newRigOf(t, fast, bridgeconfig.Config{ToolPrefix: prefix, Servers: []bridgeconfig.Server{
				{Name: "one", URL: upstream.URL}, served(t, "two", echoServer("two"), "modern"),
			}})
			client := r.connect(t, "modern", nil)
			before := toolNames(t, client)
			upstream.CloseClientConnections()
			upstream.Close()
			wait.Until(t, "the server to be away", func() bool { return r.bridge.Health().Servers["one"].Status == health.Unhealthy })
			wait.Until(t, "the same tools, and the bridge's own", func() bool {
				return slices.Equal(toolNames(t, client), append(slices.Clone(before), "bridge_status"))
			})
			for _, tool := range before {
				if err := called(t, client, tool); (err == nil) != slices.Contains([]string{"two_echo", "echo_2"}, tool) {
					t.Errorf("call of %s: %v", tool, err)
				}
			}
		})
	}
}

func TestACursorThatNobodyGaveIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast, served(t, "one", fullServer("one", "a"), "legacy"), served(t, "two", fullServer("two", "b"), "modern"))
	for clientEra := range eraNames {
		client := r.connect(t, clientEra, nil)
		ctx := t.Context()
		lists := map[string]func() error{
			"tools":     func() error { _, err := client.ListTools(ctx, &mcp.ListToolsParams{Cursor: "x"}); return err },
			"prompts":   func() error { _, err := client.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: "x"}); return err },
			"resources": func() error { _, err := client.ListResources(ctx, &mcp.ListResourcesParams{Cursor: "x"}); return err },
			"templates": func() error {
				_, err := client.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: "x"})
				return err
			},
		}
		for name, list := range lists {
			var rpc *jsonrpc.Error
			if err := list(); !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%s client, %s: %v, want invalid params", clientEra, name, err)
			}
		}
	}
}
