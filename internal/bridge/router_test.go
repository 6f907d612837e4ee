// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/toolrouter"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/console/trial"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// newRigOf starts a bridge with a whole configuration.
func newRigOf(t *testing.T, t0 upstream.Timing, c bridgeconfig.Config) *rig {
	t.Helper()
	return newPolicyRig(t, Options{timing: &t0}, c)
}

// newRouter starts a bridge in mode Router.
func newRouter(t *testing.T, servers ...bridgeconfig.Server) *rig {
	t.Helper()
	return newRigOf(t, fast, bridgeconfig.Config{Mode: bridgeconfig.Router, Servers: servers})
}

// served serves s in an era and returns its configuration.
func served(t *testing.T, name string, s *mcp.Server, eraName string) bridgeconfig.Server {
	t.Helper()
	upstream := serveMCP(t, s, eraName)
	t.Cleanup(upstream.Close)
	return bridgeconfig.Server{Name: name, URL: upstream.URL}
}

// wished calls the one tool.
func wished(t *testing.T, client *mcp.ClientSession, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: toolrouter.ToolName, Arguments: arguments})
	if err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
	return result
}

// told returns the answer of the tool itself, whose text and structured content
// must say the same.
func told(t *testing.T, r *mcp.CallToolResult) map[string]any {
	t.Helper()
	var fromText map[string]any
	if err := json.Unmarshal([]byte(text(t, r)), &fromText); err != nil {
		t.Fatalf("the text is not JSON: %v", err)
	}
	if diff := cmp.Diff(any(fromText), r.StructuredContent); diff != "" {
		t.Errorf("the structured content differs from the text (-text +structured):\n%s", diff)
	}
	return fromText
}

func TestARouterShowsOneTool(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for _, names := range [][]string{{}, {"one"}, {"one", "two"}} {
			t.Run(fmt.Sprintf("%s client and %d servers", clientEra, len(names)), func(t *testing.T) {
				t.Parallel()
				var servers []bridgeconfig.Server
				for i, name := range names {
					s := served(t, name, fullServer(name, name), []string{"legacy", "modern"}[i])
					s.Description = "Things of " + name + "."
					servers = append(servers, s)
				}
				r := newRouter(t, servers...)
				client := r.connect(t, clientEra, nil)
				tools, err := client.ListTools(t.Context(), nil)
				if err != nil || len(tools.Tools) != 1 {
					t.Fatalf("tools = %+v, %v, want one", tools, err)
				}
				tool := tools.Tools[0]
				for _, name := range names {
					if !strings.Contains(tool.Description, "- "+name+" (1 tools): Things of "+name+".") {
						t.Errorf("description = %q, want %s in it", tool.Description, name)
					}
				}
				if tool.Name != "mcp" || tool.Annotations == nil || tool.Annotations.ReadOnlyHint || !*tool.Annotations.OpenWorldHint || !*tool.Annotations.DestructiveHint {
					t.Errorf("tool = %+v with annotations %+v", tool, tool.Annotations)
				}
				if clientEra == "modern" && tools.CacheScope != "private" {
					t.Errorf("the list may be kept by %q", tools.CacheScope)
				}
				if got := client.InitializeResult().ServerInfo.Name; got != "hosted-bridge" {
					t.Errorf("the server is %s, want the bridge", got)
				}
				for _, name := range names {
					if got := text(t, wished(t, client, map[string]any{"server": name, "tool": "who"})); got != name {
						t.Errorf("who at %s = %s", name, got)
					}
				}
				for _, name := range []string{"who", "one_who", "none"} {
					if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name}); len(names) > 0 && !isUnknown(err, name) || err == nil {
						t.Errorf("tool %s past the one tool: %v", name, err)
					}
				}
			})
		}
	}
}

// isUnknown reports whether err says that there is no such tool.
func isUnknown(err error, tool string) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && cmp.Equal(rpc, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown tool " + message.Quote(tool)})
}

// nativeServer has a tool whose result has everything that a result can have.
func nativeServer() (*mcp.Server, *mcp.CallToolResult) {
	want := &mcp.CallToolResult{
		Meta: mcp.Meta{"example.com/x": "y"},
		Content: []mcp.Content{
			&mcp.TextContent{Text: "<b>&</b>", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5}},
			&mcp.ImageContent{Data: []byte{0, 1, 2, 255}, MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "b"}},
		},
		StructuredContent: map[string]any{"n": 1.5, "list": []any{"x", nil}},
		IsError:           true,
	}
	s := emptyServer(nil)
	rawTool(s, "all", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		copied := *want
		copied.Meta = mcp.Meta{"example.com/x": "y"}
		return &copied, nil
	})
	return s, want
}

// inRouters runs a test behind a router with a server of each era.
func inRouters(t *testing.T, build func() *mcp.Server, test func(t *testing.T, r *rig, clientEra, serverEra string)) {
	t.Helper()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				test(t, newRouter(t, served(t, "one", build(), serverEra)), clientEra, serverEra)
			})
		}
	}
}

func TestACallThroughTheRouterKeepsImagesAndStructuredContent(t *testing.T) {
	t.Parallel()
	_, want := nativeServer()
	build := func() *mcp.Server {
		s, _ := nativeServer()
		return s
	}
	inRouters(t, build, func(t *testing.T, r *rig, clientEra, _ string) {
		got := wished(t, r.connect(t, clientEra, nil), map[string]any{"tool": "all"})
		if diff := cmp.Diff(want.Content, got.Content); diff != "" {
			t.Errorf("content (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want.StructuredContent, got.StructuredContent); diff != "" || !got.IsError || got.Meta["example.com/x"] != "y" {
			t.Errorf("isError %v, _meta %v, structured content (-want +got):\n%s", got.IsError, got.Meta, diff)
		}
	})
}

func TestErrorsKeepTheirCodeThroughTheRouter(t *testing.T) {
	t.Parallel()
	want := &jsonrpc.Error{Code: -32042, Message: "not so", Data: []byte(`{"why":"because"}`)}
	build := func() *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, want })
		return s
	}
	inRouters(t, build, func(t *testing.T, r *rig, clientEra, _ string) {
		client := r.connect(t, clientEra, nil)
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: toolrouter.ToolName, Arguments: map[string]any{"tool": "fail"}})
		var got *jsonrpc.Error
		if !errors.As(err, &got) {
			t.Fatalf("error = %v, want a JSON-RPC error", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	})
}

func TestPromptsAndResourcesInModeRouterAreThoseOfModeDirect(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var servers []bridgeconfig.Server
			for i, name := range []string{"my files", "my.files", "other"} {
				servers = append(servers, served(t, name, fullServer(name, []string{"a", "b", "c"}[i]), []string{"legacy", "modern", "legacy"}[i]))
			}
			client := newRouter(t, servers...).connect(t, clientEra, nil)
			checkPrompts(t, client)
			checkResources(t, client)
		})
	}
}

func TestWhatACallNeedsPassesTheRouter(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 4)
	build := func() *mcp.Server {
		s := emptyServer(nil)
		rawTool(s, "work", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Message: string(req.Params.Arguments),
				}); err != nil {
					return nil, err
				}
			}
			return said("done"), nil
		})
		rawTool(s, "hang", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}); err != nil {
				return nil, err
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		return s
	}
	inRouters(t, build, func(t *testing.T, r *rig, clientEra, _ string) {
		progress := make(chan string, 16)
		client := r.connect(t, clientEra, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				progress <- fmt.Sprintf("%v %s", req.Params.ProgressToken, req.Params.Message)
			},
		})
		work := &mcp.CallToolParams{Name: toolrouter.ToolName, Arguments: map[string]any{"tool": "work", "params": map[string]any{"x": 1}}}
		work.SetProgressToken("mine")
		must.Value(client.CallTool(t.Context(), work))(t)
		for range 3 {
			if got := next(t, progress, "progress"); got != `mine {"x":1}` {
				t.Errorf("progress = %s", got)
			}
		}
		hang := &mcp.CallToolParams{Name: toolrouter.ToolName, Arguments: map[string]any{"tool": "hang"}}
		hang.SetProgressToken("other")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := client.CallTool(ctx, hang)
			failed <- err
		}()
		next(t, progress, "progress of the call that is given up")
		cancel()
		if err := next(t, failed, "end of the call"); err == nil {
			t.Error("a call that was given up has a result")
		}
		if err := next(t, ended, "end at the server"); err == nil {
			t.Error("the server did not hear that the call was given up")
		}
	})
}

func TestQuestionsPassTheRouter(t *testing.T) {
	t.Parallel()
	modern := emptyServer(nil)
	rawTool(modern, "ask", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return &mcp.CallToolResult{RequestState: "first", InputRequests: mcp.InputRequestMap{
				"who": &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema},
			}}, nil
		}
		return said("%v %s", req.Params.InputResponses["who"].(*mcp.ElicitResult).Content["name"], req.Params.Arguments), nil
	})
	legacy := emptyServer(nil)
	rawTool(legacy, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema})
		if err != nil {
			return nil, err
		}
		return said("%v %s", answer.Content["name"], req.Params.Arguments), nil
	})
	r := newRouter(t, served(t, "modern", modern, "modern"), served(t, "legacy", legacy, "legacy"))
	for _, eras := range [][2]string{{"modern", "modern"}, {"legacy", "modern"}, {"legacy", "legacy"}} {
		t.Run(eras[0]+" client and "+eras[1]+" server", func(t *testing.T) {
			client := r.connect(t, eras[0], asking("ann"))
			got := text(t, wished(t, client, map[string]any{"server": eras[1], "tool": "ask", "params": map[string]any{"x": 1}}))
			if got != `ann on it {"x":1}` {
				t.Errorf("answer = %s", got)
			}
		})
	}
}

func TestClientsHearOfChangesOfTheOneTool(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one := echoServer("one")
				two := newMemoryProgram(t, echoServer("two"), "modern")
				two.Name = "two"
				r := newPipedRig(t, fast, bridgeconfig.Router, newMemoryProgram(t, one, "legacy").Server, two.Server)
				opts, changed := changeCounter()
				client := r.connectStdio(t, clientEra, opts)
				connected(t, r.bridge)
				wait.Until(t, "both servers' tools", func() bool {
					return strings.Count(toolNamed(t, client).Description, "(1 tools)") == 2
				})
				for len(changed) > 0 {
					<-changed
				}
				rawTool(one, "more", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
				next(t, changed, "list change")
				wait.Until(t, "the new tool", func() bool {
					return strings.Contains(toolNamed(t, client).Description, "one (2 tools): echo, more")
				})
				quietly(changed)
				one.AddTool(&mcp.Tool{Name: "more", Description: "says more", InputSchema: map[string]any{"type": "object"}}, nil)
				wait.Until(t, "the new description", func() bool {
					list := told(t, wished(t, client, map[string]any{"action": "list", "server": "one"}))
					return strings.Contains(fmt.Sprint(list), "says more")
				})
				if n := quietly(changed); n > 0 {
					t.Errorf("clients heard of %d changes of a tool that they do not see", n)
				}
			})
		})
	}
}

func toolNamed(t *testing.T, client *mcp.ClientSession) *mcp.Tool {
	t.Helper()
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 {
		t.Fatalf("tools = %+v, %v, want one", tools, err)
	}
	return tools.Tools[0]
}

// The users' console calls tools of a bridge in mode Router from their pages.
func TestAPageFindsAndCallsAToolThroughTheRouter(t *testing.T) {
	t.Parallel()
	servers := []bridgeconfig.Server{served(t, "one", fullServer("one", "one"), "legacy"), served(t, "two", fullServer("two", "two"), "modern")}
	exchangeWith := func(r *rig) func(httpapi.RPC) httpapi.Exchanged {
		return func(rpc httpapi.RPC) httpapi.Exchanged {
			res, body := r.do(t, http.MethodPost, r.url, string(rpc.Body), map[string]string{
				"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": rpc.Method, "Mcp-Name": rpc.Name,
			})
			return httpapi.Exchanged{Status: res.StatusCode, Header: res.Header, Body: []byte(body)}
		}
	}
	exchange := exchangeWith(newRouter(t, servers...))
	for _, server := range []string{"one", "two"} {
		tool, err := trial.FindThroughRouter(exchange, server, "who")
		if err != nil || tool == nil || tool.Name != "who" || len(tool.InputSchema) == 0 {
			t.Fatalf("who of %s: %+v, %v", server, tool, err)
		}
		result, err := trial.Result(exchange(trial.CallThroughRouter(server, "who", json.RawMessage(`{}`))))
		if got := trial.OutcomeOf(result); err != nil || got.Failed || got.Text != server {
			t.Errorf("a call at %s: %+v, %v", server, got, err)
		}
	}
	for name, of := range map[string][2]string{"a tool": {"one", "none"}, "a server": {"none", "who"}} {
		if tool, err := trial.FindThroughRouter(exchange, of[0], of[1]); tool != nil || err != nil {
			t.Errorf("%s that does not exist: %+v, %v", name, tool, err)
		}
	}
	direct := newRigOf(t, fast, bridgeconfig.Config{Mode: bridgeconfig.Direct, Servers: servers})
	if tool, err := trial.FindThroughRouter(exchangeWith(direct), "one", "who"); tool != nil || err == nil {
		t.Errorf("in mode Direct: %+v, %v", tool, err)
	}
}
