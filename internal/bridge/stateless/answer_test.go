// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// TestNoNotificationIsWrittenAfterItsRequestEnded has a server send a notification when the
// handler of the request has returned.
func TestNoNotificationIsWrittenAfterItsRequestEnded(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context, leave func()) mcp.Result{
		"the request was answered": func(context.Context, func()) mcp.Result { return &mcp.CallToolResult{} },
		"the client disconnected": func(ctx context.Context, leave func()) mcp.Result {
			leave()
			<-ctx.Done()
			return &mcp.CallToolResult{}
		},
		"the handler panicked": func(context.Context, func()) mcp.Result { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			var send sent.Send
			h := &Handler{Implementation: &mcp.Implementation{Name: "bridge", Version: "1"}}
			h.CheckArguments = func(string, json.RawMessage, http.Header) error { return nil }
			h.Answer = func(ctx context.Context, q *sent.Request) (mcp.Result, error) {
				send = q.Send
				return answer(ctx, leave), nil
			}
			ended := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				body, _ := io.ReadAll(r.Body)
				h.Serve(w, r, body)
			}))
			defer server.Close()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(callOfTool))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t"} {
				r.Header.Set(name, value)
			}
			if resp, err := server.Client().Do(r); err == nil {
				_ = resp.Body.Close()
			}
			<-ended
			if _, err = send(t.Context(), "notifications/progress", &mcp.ProgressNotificationParams{ProgressToken: "p"}); err == nil {
				t.Error("the notification was written")
			}
		})
	}
}

const callOfTool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`
