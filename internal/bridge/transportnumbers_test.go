// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// awaitMessage returns the id of the next message on a stream with the method,
// in JSON, and its parameters.
func awaitMessage(t *testing.T, events <-chan string, method string) (id, params string) {
	t.Helper()
	for {
		event, ok := <-events
		if !ok {
			t.Fatalf("the stream ends without %s", method)
		}
		_, data, _ := strings.Cut(event, "data: ")
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(data), &m) == nil && m.Method == method {
			return string(m.ID), string(m.Params)
		}
	}
}

// TestAnAnswerIsNotTakenForThatToAnotherQuestion has a user answer a dialog after
// the bridge has restarted and asked something else.
func TestAnAnswerIsNotTakenForThatToAnotherQuestion(t *testing.T) {
	t.Parallel()
	withdrawn, heard := make(chan context.CancelFunc, 4), make(chan struct{})
	s := emptyServer(nil)
	rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		withdrawn <- cancel
		answer, err := req.Session.Elicit(asking, &mcp.ElicitParams{Message: "sure?", RequestedSchema: nameSchema})
		if err != nil {
			if asking.Err() != nil {
				<-heard // What comes after the result nobody would get.
			}
			return nil, err
		}
		return said("%v", answer.Content["name"]), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	header := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	answer := func(id, name string) {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
		if resp, _ := h.do(t, "POST", h.url, body, header); resp.StatusCode != http.StatusAccepted {
			t.Errorf("the answer to %s is answered with %d", id, resp.StatusCode)
		}
	}
	ask := func(id int) <-chan string {
		_, events := h.events(t, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask"}}`, id), header)
		return events
	}
	before, _ := awaitMessage(t, ask(2), methods.Elicit)
	h.move(t)
	events := ask(3)
	after, _ := awaitMessage(t, events, methods.Elicit)
	for _, id := range []string{before, "1", `"1"`, `"-1"`, strings.Replace(after, "-1", "-x", 1)} {
		answer(id, "old")
	}
	answer(after, "new")
	if result := next(t, events, "result"); !strings.Contains(result, `"new"`) {
		t.Errorf("the call is answered with %s", result)
	}

	for len(withdrawn) > 0 {
		<-withdrawn
	}
	events = ask(4)
	asked, _ := awaitMessage(t, events, methods.Elicit)
	next(t, withdrawn, "question")()
	defer close(heard)
	if _, params := awaitMessage(t, events, methods.Cancelled); !strings.Contains(params, `"requestId":`+asked) {
		t.Errorf("%s is withdrawn with %s", asked, params)
	}
}
