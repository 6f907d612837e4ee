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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
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
			r := newRig(t, fast, mcpserver.Server{Name: "out", URL: front.URL})
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

// TestTheWordsOfARefusalAreBoundedAndWithoutSecrets, also those of a refused connection.
func TestTheWordsOfARefusalAreBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	const canary = `c4n4ry-"t0ken"`
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := map[string]struct {
		method string
		refuse http.HandlerFunc
		want   string
	}{
		"a secret": {methods.CallTool, refuseWith(429, "", "no more for "+canary), `and says "no more for [redacted]"`},
		"a secret where the text is cut": {
			methods.CallTool, refuseWith(429, "", strings.Repeat("a", 495)+canary+" b"), strings.Repeat("a", 495) + `[reda"…`,
		},
		"a long text": {
			methods.CallTool, refuseWith(500, "", strings.Repeat("ä", 30_000)), `and says "` + strings.Repeat("ä", 500) + `"…`,
		},
		"several lines":       {methods.CallTool, refuseWith(500, "", "a\nb"), `and says "a\nb"`},
		"more than a message": {methods.CallTool, refuseWith(500, "", strings.Repeat("a", 1<<20)), `it answered HTTP 500 Internal Server Error`},
		"a date":              {methods.CallTool, refuseWith(429, in(10*time.Hour), "no"), `: try again in 3`},
		"a date of the past":  {methods.CallTool, refuseWith(429, in(-time.Hour), "no"), `and says "no"`},
		"a year":              {methods.CallTool, refuseWith(429, "31536000", "no"), `: try again in 86400 s`},
		"no time":             {methods.CallTool, refuseWith(429, "soon", "no"), `and says "no"`},
		"a problem": {methods.CallTool, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, `{"title":"Unavailable","detail":%q}`, "no room for "+canary)
		}, `and says "no room for [redacted]"`},
		"a refused connection": {methods.Initialize, refuseWith(429, "30", "no "+canary), `it answered HTTP 429 Too Many Requests and says "no [redacted]"`},
		"a page": {methods.CallTool, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>"+canary, http.StatusBadGateway)
		}, `it answered HTTP 502 Bad Gateway`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			front := busyServer(t, "legacy", tt.method, tt.refuse)
			server := mcpserver.Server{Name: "out", URL: front.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}}
			r := newRig(t, fast, server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", canary))
			_, err := r.connect(t, "modern", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}})
			rpc, ok := asRPC(err)
			if !ok || !strings.Contains(rpc.Message, tt.want) || strings.Contains(rpc.Message+string(rpc.Data), "c4n4") {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
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
		r := newRig(t, fast, mcpserver.Server{Name: "out", URL: front.URL})
		_, err := r.connect(t, "modern", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}})
		if rpc, ok := asRPC(err); !ok || !strings.Contains(rpc.Message, "try again in 1 s") || calls.Load() != 1 {
			t.Errorf("a %s server was called %d times: %v", serverEra, calls.Load(), err)
		}
	}
}
