// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// busyServer serves the tool echo, and answers the requests of a method by refuse.
func busyServer(t *testing.T, serverEra, method string, refuse http.HandlerFunc) *httptest.Server {
	t.Helper()
	handler := mcpHandler(t, echoServer("out"), serverEra)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"`+method+`"`)) {
			refuse(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front
}

// refuseWith answers with a status and a JSON-RPC error.
func refuseWith(status int, retryAfter, words string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, words)
	}
}

// TestTheWordsOfAServerThatRefusesReachTheUser at statuses of which the SDK reads no body.
func TestTheWordsOfAServerThatRefusesReachTheUser(t *testing.T) {
	t.Parallel()
	connects := map[string]func(*testing.T, *rig, string) *mcp.ClientSession{
		"HTTP":  func(t *testing.T, r *rig, eraName string) *mcp.ClientSession { return r.connect(t, eraName, nil) },
		"stdio": func(t *testing.T, r *rig, eraName string) *mcp.ClientSession { return r.connectStdio(t, eraName, nil) },
	}
	for serverEra := range eraNames {
		for _, status := range []int{429, 500, 502, 503, 504} {
			front := busyServer(t, serverEra, methods.CallTool, refuseWith(status, "30", "30 calls a minute are enough"))
			r := newRig(t, fast, bridgeconfig.Server{Name: "out", URL: front.URL})
			for clientEra := range eraNames {
				for over, connect := range connects {
					t.Run(fmt.Sprintf("%s server, %d, %s client over %s", serverEra, status, clientEra, over), func(t *testing.T) {
						_, err := connect(t, r, clientEra).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}})
						rpc, ok := asRPC(err)
						if !ok {
							t.Fatalf("error = %v", err)
						}
						want := fmt.Sprintf(`server "out" failed: it answered HTTP %d %s and says "30 calls a minute are enough": try again in 30 s`,
							status, http.StatusText(status))
						data := fmt.Sprintf(`{"code":"upstream_error","retryAfterSeconds":30,"server":"out","status":%d}`, status)
						if rpc.Message != want || string(rpc.Data) != data {
							t.Errorf("error = %s %s, want %s %s", rpc.Message, rpc.Data, want, data)
						}
					})
				}
			}
		}
	}
}

// TestACallIsNotRepeatedForABusyServer, whatever the server says of when to ask again: the client
// decides.
func TestACallIsNotRepeatedForABusyServer(t *testing.T) {
	t.Parallel()
	for _, serverEra := range []string{"legacy", "modern"} {
		var calls atomic.Int32
		refuse := refuseWith(429, "1", "not now")
		front := busyServer(t, serverEra, methods.CallTool, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			refuse(w, r)
		})
		r := newRig(t, fast, bridgeconfig.Server{Name: "out", URL: front.URL})
		_, err := r.connect(t, "modern", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}})
		if rpc, ok := asRPC(err); !ok || !strings.Contains(rpc.Message, "try again in 1 s") || calls.Load() != 1 {
			t.Errorf("a %s server was called %d times: %v", serverEra, calls.Load(), err)
		}
	}
}
