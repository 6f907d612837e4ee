// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// refusedFrame is the status of an answer that was none, because the stream or
// the connection was ended.
const refusedFrame = 0

// rawHTTP2 sends one request as HTTP/2 has it, field by field, and returns the
// status and body of the answer.
func (w *world) rawHTTP2(body string, fields ...string) (status int, answer string) {
	w.t.Helper()
	conn := w.dial()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.AllowIllegalWrites = true
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		w.t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			w.t.Fatal(err)
		}
	}
	// A peer that has hung up meanwhile is read below.
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: body == ""})
	if body != "" {
		_ = framer.WriteData(1, true, []byte(body))
	}
	return readHTTP2(framer)
}

func readHTTP2(framer *http2.Framer) (status int, answer string) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return refusedFrame, answer
		}
		switch f := frame.(type) {
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return status, answer
		case *http2.MetaHeadersFrame:
			status, _ = strconv.Atoi(f.PseudoValue("status"))
		case *http2.DataFrame:
			answer += string(f.Data())
		default:
			continue
		}
		if frame.Header().Flags.Has(http2.FlagDataEndStream) && frame.Header().StreamID == 1 {
			return status, answer
		}
	}
}

// http2Request are the fields of alice's request.
func http2Request(method, path, key string, more ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":authority", "x", ":path", path, "authorization", "Bearer " + key}, more...)
}

func TestHostileTargetsReachNobodyOverHTTP2(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := twoUsers(t)
		if status, body := w.rawHTTP2("", http2Request("GET", "/u/alice/mcp", alice)...); status != http.StatusOK || !strings.Contains(body, `"servedBy":"alice"`) {
			t.Fatalf("the way itself: %d %s", status, body)
		}
		for name, target := range hostileTargets {
			for _, method := range []string{"GET", "POST", "CONNECT", "OPTIONS"} {
				status, body := w.rawHTTP2("", http2Request(method, target, alice, "content-type", "application/json")...)
				if strings.Contains(body, "servedBy") {
					t.Errorf("%s %s: a bridge answered: %s", method, name, body)
				}
				if status != http.StatusNotFound && status != http.StatusBadRequest && status != refusedFrame {
					t.Errorf("%s %s: status %d, want a refusal", method, name, status)
				}
			}
		}
	})
}

func TestHostileMessagesReachNobodyOverHTTP2(t *testing.T) {
	w, alice, bob := twoUsers(t)
	get := func(more ...string) []string { return http2Request("GET", "/u/alice/mcp", alice, more...) }
	for _, tt := range []struct {
		name   string
		body   string
		fields []string
	}{
		{"two paths", "", append([]string{":path", "/u/bob/mcp"}, get()...)},
		{"two methods", "", append([]string{":method", "POST"}, get()...)},
		{"a path after the fields", "", get(":path", "/u/bob/mcp")},
		{"an unknown pseudo field", "", append([]string{":user", "bob"}, get()...)},
		{"no path", "", []string{":method", "GET", ":scheme", "http", ":authority", "x", "authorization", "Bearer " + alice}},
		{"an empty path", "", http2Request("GET", "", alice)},
		{"a field in upper case", "", get("X-User-Id", "bob")},
		{"a newline in a value", "", get("mcp-session-id", "a\r\nx-user-id: bob")},
		{"a newline in a name", "", get("mcp-session-id\r\nx", "a")},
		{"a NUL in a value", "", get("mcp-session-id", "a\x00b")},
		{"a space in a name", "", get("mcp session", "a")},
		{"a colon in a name", "", get("mcp:session", "a")},
		{"two keys", "", get("authorization", "Bearer "+bob)},
		{"two sessions", "", get("mcp-session-id", "a", "mcp-session-id", "b")},
		{"a connection of its own", "", get("connection", "mcp-session-id")},
		{"a transfer coding", "{}", http2Request("POST", "/u/alice/mcp", alice, "content-type", "application/json", "transfer-encoding", "chunked")},
		{"an upgrade", "", get("upgrade", "websocket")},
		{"a wish for other than trailers", "", get("te", "gzip")},
		{"less than the length", "{}", http2Request("POST", "/u/alice/mcp", alice, "content-type", "application/json", "content-length", "3")},
		{"more than the length", "{}GET /u/bob/mcp", http2Request("POST", "/u/alice/mcp", alice, "content-type", "application/json", "content-length", "2")},
		{"two lengths", "{}", http2Request("POST", "/u/alice/mcp", alice, "content-type", "application/json", "content-length", "2", "content-length", "3")},
		{"a length that is none", "{}", http2Request("POST", "/u/alice/mcp", alice, "content-type", "application/json", "content-length", "+2")},
		{"a space in the path", "", http2Request("GET", "/u/alice/mcp HTTP/1.1\r\nHost: y", alice)},
		{"an extended CONNECT", "", append(http2Request("CONNECT", "/u/alice/mcp", alice), ":protocol", "websocket")},
		{"fields beyond 32 KiB", "", get("x", strings.Repeat("a", 64<<10))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := w.rawHTTP2(tt.body, tt.fields...)
			if strings.Contains(body, "servedBy") || status != refusedFrame && (status < 400 || status >= 500) {
				t.Errorf("%d %s, want a refusal", status, body)
			}
		})
	}
}

func TestHTTP2IsNotUpgradedTo(t *testing.T) {
	w, alice, _ := twoUsers(t)
	got := w.raw("GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice +
		"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"servedBy":"alice"`) || got.header.Get("Upgrade") != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
