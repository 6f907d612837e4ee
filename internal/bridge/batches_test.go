// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// batching sends each answer of a server in an array, with other messages around it.
func batching(t *testing.T, version, before, after string, stream bool) *httptest.Server {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m sentMessage
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := `{"content":[{"type":"text","text":"one: a"}]}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"` + version + `","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"batching","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		case "tools/call":
		default:
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		answer := fmt.Sprintf("{\n\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", m.ID, result)
		if m.Method == "tools/call" {
			answer = before + answer + after
		}
		answer = "[" + answer + "]"
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: 1\ndata: %s\n\n", strings.ReplaceAll(answer, "\n", " "))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(front.Close)
	return front
}

// TestAnAnswerInAnArrayIsRead where it is one message, or the version has batches; in other versions
// an array of several fails in words that help.
func TestAnAnswerInAnArrayIsRead(t *testing.T) {
	t.Parallel()
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"a"}}`
	for name, tt := range map[string]struct {
		version, before, after string
		want                   string
	}{
		"one message":                    {"2025-03-26", "", "", "one: a"},
		"one message of a later version": {"2025-06-18", "", "", "one: a"},
		"a note before it":               {"2025-03-26", note + ",", "", "one: a"},
		"notes around it":                {"2025-03-26", note + ",", "," + note, "one: a"},
		"several of a later version": {
			"2025-06-18", note + ",", "", "it is an array of 2 messages, which version 2025-06-18 of the protocol does not have",
		},
		"no object": {"2025-03-26", "7,", "", "it is an array with a member that is no object"},
	} {
		for _, stream := range []bool{false, true} {
			for eraName := range eraNames {
				t.Run(fmt.Sprintf("%s, stream %v, %s client", name, stream, eraName), func(t *testing.T) {
					t.Parallel()
					front := batching(t, tt.version, tt.before, tt.after, stream)
					r := newRig(t, fast, mcpserver.Server{Name: "one", URL: front.URL})
					heard := make(chan string, 2)
					client := r.connect(t, eraName, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, n *mcp.LoggingMessageRequest) {
						heard <- fmt.Sprint(n.Params.Data)
					}})
					result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Meta: mcp.Meta{"io.modelcontextprotocol/logLevel": "debug"}})
					got := fmt.Sprint(err)
					if err == nil {
						got = text(t, result)
					}
					if !strings.Contains(got, tt.want) {
						t.Errorf("the call gave %s, want %s", got, tt.want)
					}
					if err == nil && tt.before != "" {
						next(t, heard, "the note of the batch")
					}
				})
			}
		}
	}
}
