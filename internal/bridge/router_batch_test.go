// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestABatchKeepsTheContentOfItsResults(t *testing.T) {
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				native, want := nativeServer()
				rawTool(native, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return nil, &jsonrpc.Error{Code: -32042, Message: "not so"}
				})
				r := newRouter(t, served(t, "one", native, serverEra), served(t, "two", echoServer("two"), "modern"), served(t, "three", echoServer("three"), "legacy"))
				client := r.connect(t, clientEra, nil)
				got := wished(t, client, map[string]any{"action": "batch", "calls": []map[string]any{
					{"server": "two", "tool": "echo", "params": map[string]any{"text": "hi"}},
					{"server": "one", "tool": "all"},
					{"server": "one", "tool": "fail"},
					{"server": "one", "tool": "none"},
					{"tool": "all"},
				}})
				header := func(text string) mcp.Content { return &mcp.TextContent{Text: text} }
				content := []mcp.Content{header("[1/5] two/echo: ok"), &mcp.TextContent{Text: "two: hi"}, header("[2/5] one/all: error")}
				content = append(content, want.Content...)
				content = append(content, header("[3/5] one/fail: mcp_error: not so"),
					header(`[4/5] one/none: unknown_tool: server "one" has no tool "none"`), header("[5/5] one/all: error"))
				content = append(content, want.Content...)
				if diff := cmp.Diff(content, got.Content); diff != "" {
					t.Errorf("content (-want +got):\n%s", diff)
				}
				span := func(first, count float64) map[string]any { return map[string]any{"first": first, "count": count} }
				slots := got.StructuredContent.(map[string]any)["results"].([]any)
				all := map[string]any{"isError": true, "structuredContent": want.StructuredContent}
				for i, slot := range []map[string]any{
					{"server": "two", "tool": "echo", "result": map[string]any{}, "content": span(1, 1)},
					{"server": "one", "tool": "all", "result": all, "content": span(3, 5)},
					{"server": "one", "tool": "fail", "error": map[string]any{"error": "mcp_error", "message": "not so", "code": -32042.0}},
					{"server": "one", "tool": "none", "error": map[string]any{"error": "unknown_tool", "message": `server "one" has no tool "none"`, "available": []any{"all", "fail"}}},
					{"server": "one", "tool": "all", "result": all, "content": span(11, 5)},
				} {
					if result, ok := slots[i].(map[string]any)["result"].(map[string]any); ok {
						if meta := result["_meta"]; i%3 == 1 && meta.(map[string]any)["example.com/x"] != "y" {
							t.Errorf("slot %d has _meta %v", i, meta)
						}
						delete(result, "_meta")
					}
					if diff := cmp.Diff(any(slot), slots[i]); diff != "" {
						t.Errorf("slot %d (-want +got):\n%s", i, diff)
					}
				}
				if got.IsError {
					t.Error("the batch is an error though a call was not")
				}
			})
		}
	}
}

func TestABatchMakesThreeCallsAtOnce(t *testing.T) {
	began, release := make(chan struct{}, 16), make(chan struct{})
	s := emptyServer(nil)
	rawTool(s, "work", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		return said("done"), nil
	})
	r := newRouter(t, served(t, "one", s, "modern"))
	progress := make(chan string, 16)
	client := r.connect(t, "legacy", &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			progress <- fmt.Sprintf("%v %v/%v", req.Params.ProgressToken, req.Params.Progress, req.Params.Total)
		},
	})
	work := make([]map[string]any, 10)
	for i := range work {
		work[i] = map[string]any{"tool": "work"}
	}
	params := &mcp.CallToolParams{Name: metaToolName, Arguments: map[string]any{"action": "batch", "calls": work}}
	params.SetProgressToken("mine")
	ended := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), params)
		ended <- err
	}()
	for range batchWidth {
		next(t, began, "call")
	}
	if more := quietly(began); more > 0 {
		t.Errorf("%d calls are under way, want %d", batchWidth+more, batchWidth)
	}
	close(release)
	if err := next(t, ended, "end of the batch"); err != nil {
		t.Fatal(err)
	}
	if rest := quietly(began); rest != len(work)-batchWidth {
		t.Errorf("%d calls were made after the first, want %d", rest, len(work)-batchWidth)
	}
	for i := range work {
		if got, want := next(t, progress, "progress"), fmt.Sprintf("mine %d/10", i+1); got != want {
			t.Errorf("progress = %s, want %s", got, want)
		}
	}
}

func TestABatchInWhichNothingWorksIsAnError(t *testing.T) {
	native, _ := nativeServer()
	r := newRouter(t, served(t, "one", native, "legacy"))
	got := wished(t, r.connect(t, "modern", nil), map[string]any{"action": "batch", "calls": []map[string]any{{"tool": "none"}, {"tool": "all"}, {}}})
	if !got.IsError {
		t.Errorf("answer = %+v, want an error", got)
	}
}

func TestWhatAsksForInputIsNotAnsweredInABatch(t *testing.T) {
	s := emptyServer(nil)
	rawTool(s, "ask", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{RequestState: "first", InputRequests: mcp.InputRequestMap{
			"who": &mcp.ElicitParams{Message: "it", RequestedSchema: nameSchema},
		}}, nil
	})
	r := newRouter(t, served(t, "one", s, "modern"))
	got := wished(t, r.connect(t, "modern", asking("ann")), map[string]any{"action": "batch", "calls": []map[string]any{{"tool": "ask"}}})
	slot := got.StructuredContent.(map[string]any)["results"].([]any)[0].(map[string]any)
	if failure, ok := slot["error"].(map[string]any); !ok || failure["error"] != "mcp_error" || slot["result"] != nil {
		t.Errorf("slot = %v", slot)
	}
}

func TestAServerThatIsAwayFailsItsSlotAlone(t *testing.T) {
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	one := served(t, "two", echoServer("two"), "modern")
	gone := one
	gone.Name, gone.URL = "gone", upstream.URL
	r := newRouter(t, gone, one)
	client := r.connect(t, "modern", nil)
	listed(t, r.bridge, 2)
	upstream.CloseClientConnections()
	upstream.Close()
	hi := map[string]any{"text": "hi"}
	got := wished(t, client, map[string]any{"action": "batch", "calls": []map[string]any{
		{"server": "gone", "tool": "echo", "params": hi}, {"server": "two", "tool": "echo", "params": hi},
	}})
	slots := got.StructuredContent.(map[string]any)["results"].([]any)
	failure, ok := slots[0].(map[string]any)["error"].(map[string]any)
	if !ok || failure["error"] != "connection_failed" || failure["code"] != -32603.0 || got.IsError {
		t.Errorf("isError %v, first slot %v", got.IsError, slots[0])
	}
	if result := slots[1].(map[string]any); result["error"] != nil {
		t.Errorf("second slot %v", result)
	}
}
