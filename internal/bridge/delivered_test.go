// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// callServer is a legacy server with sessions that leaves the answer to a tool
// call to answer and counts the calls. What remains of a broken stream is up to
// rest.
func callServer(t *testing.T, answer func(w http.ResponseWriter, id string), rest http.HandlerFunc) (server mcpserver.Server, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"wire","version":"1"}}`,
		"ping":       `{}`,
		"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		switch {
		case r.Header.Get("Last-Event-ID") != "":
			rest(w, r)
			return
		case r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/call":
			calls.Add(1)
			answer(w, string(m.ID))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s")
		}
		result, ok := results[m.Method]
		if !ok {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(upstream.Close)
	return mcpserver.Server{Name: "one", URL: upstream.URL}, calls
}

// TestADeliveredCallIsNotSentAgain has a server take a call, break the stream of
// its answer, and not know that stream when the rest is asked for.
func TestADeliveredCallIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			server, calls := callServer(t, func(w http.ResponseWriter, _ string) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprint(w, "id: 1\nretry: 1\n\n")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, http.NotFound)
			client := newRig(t, fast, server).connect(t, clientEra, nil)
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || !strings.Contains(string(rpc.Data), "upstream") {
				t.Errorf("error = %v, want one that names the server", err)
			}
			if got := calls.Load(); got != 1 {
				t.Errorf("the tool ran %d times, want once", got)
			}
		})
	}
}

// TestTheRestOfABrokenAnswerCounts has a server break the stream of its answer
// and give the result to who asks for the rest.
func TestTheRestOfABrokenAnswerCounts(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			var id atomic.Value
			server, calls := callServer(t, func(w http.ResponseWriter, callID string) {
				id.Store(callID)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprint(w, "id: 1\nretry: 1\n\n")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id.Load())
			})
			client := newRig(t, fast, server).connect(t, clientEra, nil)
			result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"}))(t)
			if got := text(t, result); got != "late" || calls.Load() != 1 {
				t.Errorf("result %q after %d calls, want the late one after one", got, calls.Load())
			}
		})
	}
}

// TestAnAnswerIsNeverNothing has a server answer in ways that the SDK takes for
// an answer.
func TestAnAnswerIsNeverNothing(t *testing.T) {
	t.Parallel()
	const result = `"result":{"content":[{"type":"text","text":"done"}]}`
	tests := map[string]struct {
		mediaType, format, says string
	}{
		"an event that only the end of the stream ends": {"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":%s," + result + "}\n", `"done"`},
		"an event whose line does not end":              {"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":%s," + result + "}", `"done"`},
		"a result beside what looks like a method":      {"application/json", `{"jsonrpc":"2.0","id":%s,"Method":"x",` + result + `}`, `"done"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, calls := callServer(t, func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", tt.mediaType)
				_, _ = fmt.Fprintf(w, tt.format, id)
			}, http.NotFound)
			r := newRig(t, fast, server)
			_, legacyAnswer := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, r.session(t))
			_, modernAnswer := r.do(t, "POST", r.url, modernBody(1, "tools/call", `"name":"t",`), modernHeader("tools/call", "t"))
			for _, answer := range []string{legacyAnswer, modernAnswer} {
				if !strings.Contains(answer, tt.says) {
					t.Errorf("answer = %q, want %q", answer, tt.says)
				}
			}
			if got := calls.Load(); got != 2 {
				t.Errorf("the tool ran %d times for two calls", got)
			}
		})
	}
}
