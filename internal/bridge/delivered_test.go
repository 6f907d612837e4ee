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

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// callServer is a legacy server with sessions that leaves the answer to a tool
// call to answer and counts the calls. What remains of a broken stream is up to
// rest.
func callServer(t *testing.T, answer func(w http.ResponseWriter, id string), rest http.HandlerFunc) (server bridgeconfig.Server, calls *atomic.Int32) {
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
	return bridgeconfig.Server{Name: "one", URL: upstream.URL}, calls
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
