// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

func TestStreamsAndVersions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	header := h.session(t)
	resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`, nil)
	batches := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": header["Mcp-Protocol-Version"]}
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
		"a batch whose header has another version":     {"POST", "[" + list + "]", with("Mcp-Protocol-Version", "2025-03-26"), 400, "batching"},
		"a batch, which there still is":                {"POST", "[" + list + "]", batches, 200, `"id":7`},
		"a batch that begins a session":                {"POST", `[` + pingBody + `,{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}]`, nil, 400, "must not be part of a batch"},
		"a client that takes no stream":                {"POST", list, with("Accept", "application/json"), 400, "Accept"},
		"a client that takes no JSON":                  {"POST", list, with("Accept", "text/event-stream"), 400, "Accept"},
		"a client that takes all":                      {"POST", list, with("Accept", "text/html, */*;q=0.1"), 200, `"id":7`},
		"a client that takes kinds of both":            {"POST", list, with("Accept", "application/*, text/*"), 200, `"id":7`},
		"a body that says to be something else":        {"POST", list, with("Content-Type", "text/plain"), 415, "Content-Type"},
		"a GET that takes no stream":                   {"GET", "", with("Accept", "application/json"), 400, "Accept"},
		"a method that there is not":                   {"PUT", list, with(), 405, ""},
		"a session that ends without a name":           {"DELETE", "", map[string]string{}, 400, ""},
		"a method that is unknown":                     {"POST", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, with(), 200, `"code":-32601`},
		"one of JSON-RPC 1.0":                          {"POST", `{"jsonrpc":"1.0","id":7,"method":"no/such"}`, with(), 400, "2.0"},
		"one whose id has another form":                {"POST", `{"jsonrpc":"2.0","id":[7],"method":"no/such"}`, with(), 400, "an id is"},
		"one whose id is a fraction":                   {"POST", `{"jsonrpc":"2.0","id":1.5,"method":"no/such"}`, with(), 200, `"code":-32600`},
		"a method that only servers send":              {"POST", `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, with(), 200, `"code":-32601`},
		"an unknown notification":                      {"POST", `{"jsonrpc":"2.0","method":"notifications/no/such"}`, with(), 202, ""},
		"a request without an id":                      {"POST", `{"jsonrpc":"2.0","method":"tools/list"}`, with(), 400, "missing id"},
		"a request whose id is null":                   {"POST", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, with(), 400, "missing id"},
		"an answer with two outcomes":                  {"POST", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, with(), 400, "both"},
		"an answer without an outcome":                 {"POST", `{"jsonrpc":"2.0","id":1}`, with(), 400, "neither"},
		"an answer to what the client could not read":  {"POST", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, with(), 202, ""},
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
	resp, _, address := h.openSSE(t)
	if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("header = %v", resp.Header)
	}
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
		"an answer without an outcome":      {"POST", address, `{"jsonrpc":"2.0","id":1}`, "application/json", 400},
		"a request without an id":           {"POST", address, `{"jsonrpc":"2.0","method":"tools/list"}`, "application/json", 400},
		"a request whose id is null":        {"POST", address, `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, "application/json", 400},
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
