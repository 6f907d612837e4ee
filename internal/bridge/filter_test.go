// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// pagedServer lists its tools two by two and says of each that it was called.
func pagedServer(called chan<- string, tools ...string) *mcp.Server {
	s := emptyServer(&mcp.ServerOptions{PageSize: 2})
	for _, name := range tools {
		rawTool(s, name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			called <- name
			return said("%s", name), nil
		})
	}
	return s
}

func TestFiltersHoldInModeDirect(t *testing.T) {
	t.Parallel()
	filters := map[string]struct {
		tools bridgeconfig.Tools
		want  []string
	}{
		"deny takes tools away":    {bridgeconfig.Tools{Deny: []string{"b", "d"}}, []string{"a", "c", "e"}},
		"allow leaves only others": {bridgeconfig.Tools{Allow: []string{"b", "e", "z"}}, []string{"b", "e"}},
		"deny wins over allow":     {bridgeconfig.Tools{Allow: []string{"a", "b"}, Deny: []string{"a"}}, []string{"b"}},
		"a whole page may go":      {bridgeconfig.Tools{Deny: []string{"a", "b"}}, []string{"c", "d", "e"}},
	}
	for name, f := range filters {
		for clientEra := range eraNames {
			for serverEra := range eraNames {
				for _, others := range []int{0, 1} {
					t.Run(fmt.Sprintf("%s, %s client, %s server, %d others", name, clientEra, serverEra, others), func(t *testing.T) {
						t.Parallel()
						calls := make(chan string, 64)
						one := served(t, "one", pagedServer(calls, "a", "b", "c", "d", "e"), serverEra)
						one.Tools = f.tools
						servers, prefix := []bridgeconfig.Server{one}, ""
						if others > 0 {
							servers, prefix = append(servers, served(t, "two", emptyServer(nil), "legacy")), "one_"
						}
						checkFilter(t, newRig(t, fast, servers...).connect(t, clientEra, nil), prefix, f.want, calls)
					})
				}
			}
		}
	}
}

// checkFilter checks that only the tools in want can be seen and called, and
// that the others are answered as one that does not exist.
func checkFilter(t *testing.T, client *mcp.ClientSession, prefix string, want []string, calls <-chan string) {
	t.Helper()
	var got []string
	for tool, err := range client.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tool.Name)
	}
	var named []string
	for _, name := range want {
		named = append(named, prefix+name)
	}
	if diff := cmp.Diff(named, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "nobody's"} {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: prefix + name})
		if slices.Contains(want, name) {
			if err != nil {
				t.Errorf("call of %s: %v", name, err)
			} else if got := next(t, calls, "call"); got != name {
				t.Errorf("called %s for %s", got, name)
			}
			continue
		}
		if !isUnknown(err, prefix+name) {
			t.Errorf("call of %s: %v, want the error of a tool that does not exist", name, err)
		}
	}
	if len(calls) > 0 {
		t.Errorf("the server was called for %s", <-calls)
	}
}

func TestPagesStayPages(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 1)
	one := served(t, "one", pagedServer(calls, "a", "b", "c", "d", "e"), "legacy")
	one.Tools.Deny = []string{"a", "b", "d"}
	for clientEra := range eraNames {
		client := newRig(t, fast, one).connect(t, clientEra, nil)
		var pages [][]string
		for cursor, more := "", true; more; more = cursor != "" {
			page := must.Value(client.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: cursor}))(t)
			names := []string{}
			for _, tool := range page.Tools {
				names = append(names, tool.Name)
			}
			pages, cursor = append(pages, names), page.NextCursor
		}
		if diff := cmp.Diff([][]string{{}, {"c"}, {"e"}}, pages); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	}
}

func TestFiltersHoldInModeRouter(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 64)
	one := served(t, "one", pagedServer(calls, "read_mail", "delete_mail"), "legacy")
	one.Tools.Deny = []string{"delete_mail"}
	r := newRouter(t, one, served(t, "two", echoServer("two"), "modern"))
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			client := r.connect(t, clientEra, nil)
			listed := told(t, wished(t, client, map[string]any{"action": "list", "server": "one"}))
			if tools, ok := listed["tools"].([]any); !ok || len(tools) != 1 || tools[0].(map[string]any)["name"] != "read_mail" {
				t.Errorf("list = %v", listed)
			}
			unknown := func(tool string) map[string]any {
				return map[string]any{"error": "unknown_tool", "message": `server "one" has no tool ` + message.Quote(tool), "available": []any{"read_mail"}}
			}
			for _, tool := range []string{"delete_mail", "nobody's"} {
				for _, action := range []string{"call", "schema"} {
					answer := told(t, wished(t, client, map[string]any{"action": action, "server": "one", "tool": tool}))
					if diff := cmp.Diff(unknown(tool), answer); diff != "" {
						t.Errorf("%s of %s (-want +got):\n%s", action, tool, diff)
					}
				}
			}
			found := told(t, wished(t, client, map[string]any{"action": "intent", "params": map[string]any{"intent": "delete a mail"}}))
			if alternatives := found["alternatives"].([]any); found["match"].(map[string]any)["tool"] != "read_mail" || len(alternatives) != 0 {
				t.Errorf("intent = %v", found)
			}
			if got := toolNamed(t, client).Description; !strings.Contains(got, "one (1 tools): read_mail\n") {
				t.Errorf("description = %q", got)
			}
		})
	}
	if len(calls) > 0 {
		t.Errorf("the server was called for %s", <-calls)
	}
	if got := r.bridge.Health(); got.Tools != 2 || got.Servers["one"].Tools != 1 {
		t.Errorf("health counts %d tools, %d of one", got.Tools, got.Servers["one"].Tools)
	}
}

func TestAToolThatIsNewCanBeCalledBehindAFilter(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 1)
	s := pagedServer(calls, "a")
	one := served(t, "one", s, "legacy")
	one.Tools.Deny = []string{"z"}
	slow := fast
	slow.Interval = 1 << 40 // no probe finds it
	client := newRig(t, slow, one).connect(t, "modern", nil)
	must.Value(client.ListTools(t.Context(), nil))(t)
	rawTool(s, "b", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("b"), nil })
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "b"}); err != nil {
		t.Error(err)
	}
}
