// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestAnAnswerInAnArrayReachesTheClient with the notes around it. Package inflight decides which arrays are read.
func TestAnAnswerInAnArrayReachesTheClient(t *testing.T) {
	t.Parallel()
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"a"}}`
	for mediaType, format := range map[string]string{"application/json": "%s", "text/event-stream": "id: 1\ndata: %s\n\n"} {
		for eraName := range eraNames {
			t.Run(mediaType+", "+eraName+" client", func(t *testing.T) {
				t.Parallel()
				s := &script{version: "2025-03-26", answer: func(w http.ResponseWriter, _ *http.Request, m sentMessage, _ int) string {
					w.Header().Set("Content-Type", mediaType)
					_, _ = fmt.Fprintf(w, format, fmt.Sprintf(`[%s,{"jsonrpc":"2.0","id":%s,"result":%s},%[1]s]`, note, m.ID, done))
					return ""
				}}
				heard := make(chan string, 2)
				client := newRig(t, fast, s.serve(t)).connect(t, eraName, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, n *mcp.LoggingMessageRequest) {
					heard <- fmt.Sprint(n.Params.Data)
				}})
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Meta: mcp.Meta{"io.modelcontextprotocol/logLevel": "debug"}}))(t)
				if got := text(t, result); got != "done" {
					t.Errorf("the call gave %s", got)
				}
				next(t, heard, "the note of the batch")
			})
		}
	}
}
