// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTheSDKIsSparedPlainAnswers sends a request through the tap as the SDK does.
func TestTheSDKIsSparedPlainAnswers(t *testing.T) {
	const plainly, stream = `{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`, "text/event-stream"
	for name, c := range map[string]struct {
		request, mediaType, answer, session string
		spared                              bool
	}{
		"an answer":                   {mediaType: "application/json", answer: plainly, spared: true},
		"a stream":                    {mediaType: stream, answer: "data: " + plainly + "\n\n", spared: true},
		"a stream with a first event": {mediaType: stream, answer: "id: 1\ndata:\n\nid: 2\ndata: " + plainly + "\n\n", spared: true},
		"the session's own id":        {mediaType: "application/json", answer: plainly, session: "s", spared: true},
		"another session's id":        {mediaType: "application/json", answer: plainly, session: "other"},
		"another request's answer":    {mediaType: "application/json", answer: strings.Replace(plainly, "3", "4", 1)},
		"an odd answer":               {mediaType: "application/json", answer: strings.Replace(plainly, `"id"`, `"x":1,"id"`, 1)},
		"an error":                    {mediaType: "application/json", answer: `{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}`},
		"a message before it":         {mediaType: stream, answer: `data: {"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n\ndata: " + plainly + "\n\n"},
		"a request of another form":   {request: `{"id":3,"jsonrpc":"2.0","method":"tools/call"}`, mediaType: "application/json", answer: plainly},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.mediaType)
				if c.session != "" {
					w.Header().Set("Mcp-Session-Id", c.session)
				}
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x := &exchange{ctx: ctx, toClient: discard, suffices: true}
			if c.request == "" {
				c.request = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`
			}
			r, err := http.NewRequestWithContext(context.WithValue(ctx, exchangeKey{}, x), http.MethodPost, server.URL, strings.NewReader(c.request))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Mcp-Session-Id", "s")
			resp, err := (&tap{next: transport}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if spared := resp.StatusCode == http.StatusServiceUnavailable && len(body) == 0; spared != c.spared {
				t.Errorf("spared = %v, want %v: %d %s", spared, c.spared, resp.StatusCode, body)
			}
			if c.spared && string(x.takeResult()) != `{"content":[]}` {
				t.Errorf("the result that is kept is %s", x.takeResult())
			}
		})
	}
}

// TestAConnectionOutlastsItsAnswers calls again and again a server that ends its
// streams a while after the answer.
func TestAConnectionOutlastsItsAnswers(t *testing.T) {
	connections := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections <- r.RemoteAddr
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, ": the end\n\n")
	}))
	defer server.Close()
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		x := &exchange{ctx: ctx, toClient: discard, suffices: true}
		r, err := http.NewRequestWithContext(context.WithValue(ctx, exchangeKey{}, x), http.MethodPost, server.URL,
			strings.NewReader(`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&tap{next: transport}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		cancel() // As the end of a call does.
	}
	first := <-connections
	for len(connections) > 0 {
		if other := <-connections; other != first {
			t.Fatalf("a call came on %s, and another one on %s", first, other)
		}
	}
}
