// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// header adds headers to every request.
type header struct {
	http.Header
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, h.Header)
	return h.next.RoundTrip(r)
}

// connect returns a session with the server, with these headers.
func connect(t *testing.T, url string, h http.Header) (*mcp.ClientSession, error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: header{h, transport}}, MaxRetries: -1,
	}, nil)
}

func serve(t *testing.T, tokens ...string) string {
	t.Helper()
	var hashes []apikey.Hash
	for _, token := range tokens {
		hashes = append(hashes, apikey.HashOf(token))
	}
	s := httptest.NewServer(newHandler(hashes, newAuthority(time.Minute, nil, nil)))
	t.Cleanup(s.Close)
	return s.URL
}

func TestOnlyAKnownTokenIsLetIn(t *testing.T) {
	url := serve(t, "first token", "second token")
	tests := []struct {
		name   string
		header http.Header
		status int
	}{
		{"a known token", http.Header{"Authorization": {"Bearer first token"}}, http.StatusOK},
		{"another known token", http.Header{"Authorization": {"Bearer second token"}}, http.StatusOK},
		{"no token", nil, http.StatusUnauthorized},
		{"an empty token", http.Header{"Authorization": {"Bearer "}}, http.StatusUnauthorized},
		{"an unknown token", http.Header{"Authorization": {"Bearer third token"}}, http.StatusUnauthorized},
		{"the template that nobody filled", http.Header{"Authorization": {"Bearer ${TOKEN}"}}, http.StatusUnauthorized},
		{"a known token under another scheme", http.Header{"Authorization": {"Basic first token"}}, http.StatusUnauthorized},
		{"two known tokens", http.Header{"Authorization": {"Bearer first token", "Bearer second token"}}, http.StatusUnauthorized},
		{"its hash", http.Header{"Authorization": {"Bearer " + apikey.HashOf("first token").String()}}, http.StatusUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			res := must.Value((&http.Client{Transport: header{tt.header, transport}}).Do(r))(t)
			defer res.Body.Close()
			body := must.Value(io.ReadAll(res.Body))(t)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			if strings.Contains(string(body), "first token") {
				t.Error("the answer holds a token")
			}
		})
	}
}

func TestWhoamiSaysWhatCameByHash(t *testing.T) {
	url := serve(t, "the token", "the other token")
	other := must.Value(connect(t, url, http.Header{"Authorization": {"Bearer the other token"}}))(t)
	defer other.Close()
	for n := 1; n <= 2; n++ {
		session := must.Value(connect(t, url, http.Header{"Authorization": {"Bearer the token"}, "X-Extra": {"more"}}))(t)
		got := ask(t, session)
		if want := apikey.HashOf("the token").String(); got.Token != want {
			t.Errorf("token %s, want %s", got.Token, want)
		}
		if diff := cmp.Diff([]string{apikey.HashOf("more").String()}, got.Headers["X-Extra"]); diff != "" {
			t.Errorf("X-Extra (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{apikey.HashOf("Bearer the token").String()}, got.Headers["Authorization"]); diff != "" {
			t.Errorf("Authorization (-want +got):\n%s", diff)
		}
		if got.Connections != n {
			t.Errorf("%d connections, want %d: one for each session with this token", got.Connections, n)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func ask(t *testing.T, session *mcp.ClientSession) (w whoami) {
	t.Helper()
	result := must.Value(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"}))(t)
	if len(result.Content) != 1 {
		t.Fatalf("%d contents, want 1", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the content is a %T, want text", result.Content[0])
	}
	must.Succeed(t, json.Unmarshal([]byte(text.Text), &w))
	return w
}

func TestEchoAnswersItsText(t *testing.T) {
	session := must.Value(connect(t, serve(t, "the token"), http.Header{"Authorization": {"Bearer the token"}}))(t)
	defer session.Close()
	result := must.Value(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoed{Text: "hello"}}))(t)
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "hello" {
		t.Errorf("echo answers %#v, want hello", result.Content[0])
	}
}

func TestTheServerRefusesToGuardNothing(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no hash", nil, "--token-hash is not set"},
		{"a token instead of its hash", []string{"--token-hash=open-sesame"}, "sha256:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var printed strings.Builder
			err := run(t.Context(), tt.args, &printed)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("run says %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error()+printed.String(), "open-sesame") {
				t.Errorf("what may be the token is repeated: %v", err)
			}
		})
	}
}

func TestTheServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- run(ctx, []string{"--http=127.0.0.1:0", "--token-hash=" + apikey.HashOf("x").String()}, io.Discard)
	}()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
