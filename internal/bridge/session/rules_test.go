// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

func TestStreamsAndVersions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	header := h.session(t)
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", message.MaxBody) + `"}}`
	with := func(pairs ...string) map[string]string {
		changed := map[string]string{"Mcp-Session-Id": header["Mcp-Session-Id"], "Mcp-Protocol-Version": header["Mcp-Protocol-Version"]}
		for i := 0; i < len(pairs); i += 2 {
			changed[pairs[i]] = pairs[i+1]
		}
		return changed
	}
	unknown := with("Mcp-Session-Id", "nobody")
	tests := map[string]struct {
		method, body string
		header       map[string]string
		status       int
		says         string
	}{
		"an answer is a stream that begins with an id": {"POST", list, with(), 200, "event: prime\nid: "},
		"which older clients do not know":              {"POST", list, with("Mcp-Protocol-Version", "2025-06-18"), 200, `event: message`},
		"a batch, which there no longer is":            {"POST", "[" + list + "]", with(), 400, "batching"},
		"a batch, which there still is":                {"POST", "[" + list + "]", with("Mcp-Protocol-Version", "2025-03-26"), 200, `"id":7`},
		"a client that takes no stream":                {"POST", list, with("Accept", "application/json"), 400, "Accept"},
		"a client that takes no JSON":                  {"POST", list, with("Accept", "text/event-stream"), 400, "Accept"},
		"a client that takes all":                      {"POST", list, with("Accept", "text/html, */*;q=0.1"), 200, `"id":7`},
		"a client that takes kinds of both":            {"POST", list, with("Accept", "application/*, text/*"), 200, `"id":7`},
		"a body that says to be something else":        {"POST", list, with("Content-Type", "text/plain"), 415, "Content-Type"},
		"a GET that takes no stream":                   {"GET", "", with("Accept", "application/json"), 400, "Accept"},
		"a method that there is not":                   {"PUT", list, with(), 405, ""},
		"a session that ends without a name":           {"DELETE", "", map[string]string{}, 400, ""},
		"a method that is unknown":                     {"POST", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, with(), 200, `"code":-32601`},
		"a method that only servers send":              {"POST", `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, with(), 200, `"code":-32601`},
		"an unknown notification":                      {"POST", `{"jsonrpc":"2.0","method":"notifications/no/such"}`, with(), 202, ""},
		"a notification":                               {"POST", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, with(), 202, ""},
		"a body that is too large for a session":       {"POST", large, with(), 413, ""},
		"one that is too large without a session":      {"POST", large, nil, 413, ""},
		"no body":                     {"POST", "", with(), 400, ""},
		"an event of nobody's stream": {"GET", "", with("Last-Event-Id", "x"), 405, ""},
		"an event of a stream whose request nobody can read": {"GET", "", with("Last-Event-Id", "AAAA_1.MARK.!"), 405, ""},
		"a request that should name a session":               {"POST", list, nil, 400, `"id":7`},
		"an unknown session is 404":                          {"POST", list, unknown, 404, ""},
		"also for its stream":                                {"GET", "", unknown, 404, ""},
		"also for its end":                                   {"DELETE", "", unknown, 404, ""},
		"GET without a session":                              {"GET", "", nil, 400, ""},
		"a legacy version that nobody knows":                 {"POST", list, with("Mcp-Protocol-Version", "2001-01-01"), 400, ""},
		"a modern version is served elsewhere":               {"POST", list, with("Mcp-Protocol-Version", "2026-07-28"), 404, "page not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := h.do(t, tt.method, h.url, tt.body, tt.header)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("answer = %d %q, want %d with %q", resp.StatusCode, body, tt.status, tt.says)
			}
			if strings.HasPrefix(name, "which older") && strings.Contains(body, "prime") {
				t.Errorf("an older client gets %q", body)
			}
			if got := resp.Header.Get("Mcp-Session-Id"); got != "" && tt.header["Mcp-Session-Id"] != header["Mcp-Session-Id"] {
				t.Errorf("the session header is echoed: %s", got)
			}
		})
	}
}

// TestTheRulesOfHTTPAndSSE are those that clients probe for.
func TestTheRulesOfHTTPAndSSE(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	url := strings.Replace(h.url, "/mcp", "/sse", 1)
	resp := h.open(t, http.MethodGet, url, "", nil)
	defer resp.Body.Close()
	if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("header = %v", resp.Header)
	}
	const begin = "event: endpoint\ndata: /sse?sessionid="
	first := make([]byte, len(begin)+26)
	if _, err := io.ReadFull(resp.Body, first); err != nil || !strings.HasPrefix(string(first), begin) {
		t.Fatalf("the stream begins with %q, %v", first, err)
	}
	address := url + "?sessionid=" + string(first[len(begin):])
	tests := map[string]struct {
		method, url, body, mediaType string
		want                         int
	}{
		"a message":                         {"POST", address, pingBody, "application/json", 202},
		"one in another form":               {"POST", address, pingBody, "text/plain", 415},
		"one that is none":                  {"POST", address, "{", "application/json", 400},
		"one that is too large":             {"POST", address, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", message.MaxBody) + `"}}`, "application/json", 413},
		"one to no session":                 {"POST", url, pingBody, "application/json", 405},
		"one to a session that there isn't": {"POST", url + "?sessionid=x", pingBody, "application/json", 404},
		"another method":                    {"DELETE", address, "", "application/json", 405},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := h.do(t, tt.method, tt.url, tt.body, map[string]string{"Content-Type": tt.mediaType})
			if resp.StatusCode != tt.want {
				t.Errorf("answer = %d %s, want %d", resp.StatusCode, body, tt.want)
			}
		})
	}
}
