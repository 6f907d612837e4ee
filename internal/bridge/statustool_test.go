// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// faulty is a server that the installation takes out of service.
func faulty(name string) bridgeconfig.Server {
	return bridgeconfig.Server{Name: name, URL: "http://faulty.invalid", Fault: "the catalog has no recipe " + name}
}

// statusOf lists the tools of a client and returns the one of this name, nil if it is not listed.
func statusOf(t *testing.T, client *mcp.ClientSession, name string) *mcp.Tool {
	t.Helper()
	tools := must.Value(client.ListTools(t.Context(), nil))(t).Tools
	if i := slices.IndexFunc(tools, func(tool *mcp.Tool) bool { return tool.Name == name }); i >= 0 {
		return tools[i]
	}
	return nil
}

func statusText(t *testing.T, client *mcp.ClientSession, name string) string {
	t.Helper()
	return text(t, must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: name}))(t))
}

func TestAServerThatIsDownIsSaidInTheListOfTools(t *testing.T) {
	t.Parallel()
	for era := range eraNames {
		t.Run(era+" client", func(t *testing.T) {
			t.Parallel()
			m := &mortal{build: func() http.Handler { return mcpHandler(t, echoServer("one"), "legacy") }}
			m.rise(t)
			t.Cleanup(func() { m.die() })
			r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: "http://" + m.address}, served(t, "two", echoServer("two"), "modern"))
			connected(t, r.bridge)
			changed := make(chan struct{}, 4096)
			client := r.connect(t, era, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			if diff := cmp.Diff([]string{"one_echo", "two_echo"}, toolNames(t, client)); diff != "" {
				t.Errorf("tools of healthy servers (-want +got):\n%s", diff)
			}
			m.die()
			var tool *mcp.Tool
			wait.Until(t, "the tool", func() bool {
				next(t, changed, "change of the list")
				tool = statusOf(t, client, "bridge_status")
				return tool != nil
			})
			if !strings.Contains(tool.Description, "now: one.") || !tool.Annotations.ReadOnlyHint {
				t.Errorf("the tool is %+v", tool)
			}
			if said := statusText(t, client, "bridge_status"); !strings.HasPrefix(said, "# one\n\nThis server is not available: ") ||
				strings.Contains(said, "two") || strings.Contains(said, m.address) {
				t.Errorf("it says %s", said)
			}
			m.rise(t)
			wait.Until(t, "the list without the tool", func() bool {
				next(t, changed, "change of the list")
				return statusOf(t, client, "bridge_status") == nil
			})
			if said := statusText(t, client, "bridge_status"); said != "No server is out of service." {
				t.Errorf("a client that has its list of before reads %s", said)
			}
		})
	}
}

func TestTheStatusToolIsNeverListedWhereItIsOffOrNotNeeded(t *testing.T) {
	t.Parallel()
	two := func(t *testing.T) bridgeconfig.Server { return served(t, "two", echoServer("two"), "modern") }
	for name, tt := range map[string]struct {
		config func(t *testing.T) bridgeconfig.Config
		want   []string
	}{
		"it is off": {func(t *testing.T) bridgeconfig.Config {
			return bridgeconfig.Config{StatusTool: bridgeconfig.StatusNever, Servers: []bridgeconfig.Server{faulty("one"), two(t)}}
		}, []string{"two_echo"}},
		"every server is healthy": {func(t *testing.T) bridgeconfig.Config {
			return bridgeconfig.Config{Servers: []bridgeconfig.Server{served(t, "one", echoServer("one"), "legacy"), two(t)}}
		}, []string{"one_echo", "two_echo"}},
		"mode Router, whose tool says it": {func(t *testing.T) bridgeconfig.Config {
			return bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: []bridgeconfig.Server{faulty("one"), two(t)}}
		}, []string{"mcp"}},
	} {
		for era := range eraNames {
			t.Run(name+" for a "+era+" client", func(t *testing.T) {
				t.Parallel()
				client := newRigOf(t, fast, tt.config(t)).connect(t, era, nil)
				if diff := cmp.Diff(tt.want, toolNames(t, client)); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
				if tt.want[0] != "one_echo" {
					if err := called(t, client, "bridge_status"); err == nil {
						t.Error("it can be called")
					}
				}
			})
		}
	}
}

func TestTheToolOfTheRouterNamesServersThatAreOutOfService(t *testing.T) {
	t.Parallel()
	c := bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: []bridgeconfig.Server{faulty("one"), served(t, "two", echoServer("two"), "modern")}}
	client := newRigOf(t, fast, c).connect(t, "modern", nil)
	if tool := statusOf(t, client, "mcp"); !strings.Contains(tool.Description, "- one, out of service (status says why)\n- two") {
		t.Errorf("its description is %s", tool.Description)
	}
}

// TestAServersOwnToolKeepsItsNameBesideTheStatusTool has servers whose tools have, or may come to have,
// the name of the bridge's own.
func TestAServersOwnToolKeepsItsNameBesideTheStatusTool(t *testing.T) {
	t.Parallel()
	server := func(tool string) *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("mine"), nil })
		return s
	}
	for name, tt := range map[string]struct {
		rule    bridgeconfig.Prefix
		servers func(t *testing.T) []bridgeconfig.Server
		want    []string
	}{
		"by its prefix": {bridgeconfig.PrefixAlways, func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{served(t, "bridge", server("status"), "modern"), faulty("two")}
		}, []string{"bridge_status", "_bridge_status"}},
		"by its prefix, once it is back": {bridgeconfig.PrefixAlways, func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{served(t, "one", echoServer("one"), "modern"), faulty("bridge")}
		}, []string{"one_echo", "_bridge_status"}},
		"without a prefix": {bridgeconfig.PrefixNever, func(t *testing.T) []bridgeconfig.Server {
			return []bridgeconfig.Server{served(t, "one", server("bridge_status"), "legacy"), faulty("two")}
		}, []string{"bridge_status", "_bridge_status"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newRigOf(t, fast, bridgeconfig.Config{ToolPrefix: tt.rule, Servers: tt.servers(t)}).connect(t, "modern", nil)
			if diff := cmp.Diff(tt.want, toolNames(t, client)); diff != "" {
				t.Fatalf("tools (-want +got):\n%s", diff)
			}
			if said := statusText(t, client, tt.want[0]); tt.want[0] == "bridge_status" && said != "mine" {
				t.Errorf("the server's tool answers %s", said)
			}
			if said := statusText(t, client, "_bridge_status"); !strings.Contains(said, "the catalog has no recipe") {
				t.Errorf("the bridge's tool answers %s", said)
			}
		})
	}
}

// TestAServerThatStartsForLongIsSaid has a server that takes a minute, of which calls wait for a part.
func TestAServerThatStartsForLongIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["several"](t, time.Minute))
		var changes atomic.Int32
		client := r.connect(t, "legacy", &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changes.Add(1) },
		})
		// Each list waits 5 s for the server that starts.
		must.Value(client.ListTools(t.Context(), nil))(t)
		for _, moment := range []struct {
			after  time.Duration // since the one before
			listed bool
		}{{upstream.DefaultTiming.Start - 15*time.Second, false}, {10 * time.Second, true}, {time.Minute, false}} {
			before := changes.Load()
			time.Sleep(moment.after)
			synctest.Wait()
			if got := statusOf(t, client, "bridge_status") != nil; got != moment.listed {
				t.Errorf("after %s more it is listed: %v", moment.after, got)
			}
			if moment.listed {
				if said := statusText(t, client, "bridge_status"); said != "# slow\n\nThis server is still starting." || changes.Load() == before {
					t.Errorf("it says %q, and clients were told %d times", said, changes.Load()-before)
				}
			}
		}
	})
}

// TestTheStatusToolIsAuditedAsWhatItIs also looks for the value of a secret in what the tool says.
func TestTheStatusToolIsAuditedAsWhatItIs(t *testing.T) {
	t.Parallel()
	refuses := serveMCP(t, echoServer("one"), "modern")
	refuses.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	t.Cleanup(refuses.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: refuses.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}}, faulty("two"))
	r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "canary-of-the-test"))
	client := r.connect(t, "modern", nil)
	wait.Until(t, "the refusal", func() bool {
		return strings.Contains(statusText(t, client, "bridge_status"), "the server refuses TOKEN")
	})
	answer, calls := r.post(t, map[string]string{
		message.HeaderVersion: eraNames["modern"], "Mcp-Method": methods.CallTool, "Mcp-Name": "bridge_status",
	}, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bridge_status","arguments":{},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	want := []audit.Call{{Tool: "bridge_status", Method: methods.CallTool, Status: audit.Success, ProtocolVersion: eraNames["modern"]}}
	if diff := cmp.Diff(want, calls, sizes); diff != "" || strings.Contains(answer, "canary") {
		t.Errorf("the answer is %s, and its entry (-want +got):\n%s", answer, diff)
	}
}
