// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForwardedHeader(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want http.Header
	}{
		{"credentials stay", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}, "Cookie": {"a=b"}, "Proxy-Authorization": {"x"}}, http.Header{}},
		{"the protocol's headers go on", http.Header{"Mcp-Session-Id": {"1"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}, "Last-Event-Id": {"7"}, "Accept": {"a", "b"}, "Content-Type": {"application/json"}},
			http.Header{"Mcp-Session-Id": {"1"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}, "Last-Event-Id": {"7"}, "Accept": {"a", "b"}, "Content-Type": {"application/json"}}},
		{"parameters of any name go on", http.Header{"Mcp-Param-Region": {"eu"}, "Mcp-Param-X-Y-Z": {"=?base64?YQ==?="}}, http.Header{"Mcp-Param-Region": {"eu"}, "Mcp-Param-X-Y-Z": {"=?base64?YQ==?="}}},
		{"a parameter without a name stays", http.Header{"Mcp-Param-": {"x"}, "Mcp-Params": {"x"}}, http.Header{}},
		{"names with an underscore stay", http.Header{"Mcp_session_id": {"x"}, "Mcp-Session_id": {"x"}, "Mcp-Param-A_b": {"x"}, "Mcp_param-A": {"x"}}, http.Header{}},
		{"traces go on", http.Header{"Traceparent": {"00-a"}, "Tracestate": {"a", "b"}}, http.Header{"Traceparent": {"00-a"}, "Tracestate": {"a", "b"}}},
		{"identities and addresses stay", http.Header{"X-Forwarded-For": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"}, "X-Real-Ip": {"6.6.6.6"}, "X-User-Id": {"bob"}, "X-Request-Id": {"1"}, "Origin": {"http://x"}, "Host": {"x"}}, http.Header{}},
		{"what makes a client replay stays", http.Header{"Idempotency-Key": {"1"}, "X-Idempotency-Key": {"1"}}, http.Header{}},
		{"the connection's own stay", http.Header{"Connection": {"x"}, "Upgrade": {"websocket"}, "Te": {"trailers"}, "Expect": {"100-continue"}, "Transfer-Encoding": {"chunked"}}, http.Header{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sentHeader(t, tt.in)); diff != "" {
				t.Errorf("the header that a bridge sees (-want +got):\n%s", diff)
			}
		})
	}
}

// sentHeader returns what a bridge reads of a client's header.
func sentHeader(t *testing.T, in http.Header) http.Header {
	t.Helper()
	x := &Request{Method: "POST", Path: "/u/alice/mcp", Host: "h:1", Header: in}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(x.AppendHead(nil)) + "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r.Header
}

func TestAHeadIsMadeOfWhatWasChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    Request
		want string
	}{
		{"a message", Request{Method: "POST", Path: "/u/alice/mcp", Host: "10.0.0.1:8443", RequestID: "f00"}, "POST /u/alice/mcp HTTP/1.1\r\nHost: 10.0.0.1:8443\r\nX-Request-Id: f00\r\nHosted-Bridge-Audit: in-streams\r\n"},
		{"a message of the old transport", Request{Method: "POST", Path: "/u/alice/sse", Query: "sessionid=s.1", Host: "h"}, "POST /u/alice/sse?sessionid=s.1 HTTP/1.1\r\nHost: h\r\n"},
		{"the client's request id", Request{Method: "GET", Path: "/", Host: "h", RequestID: "ours", Header: http.Header{"X-Request-Id": {"theirs"}}}, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: ours\r\nHosted-Bridge-Audit: in-streams\r\n"},
		{"a value that ends its line", Request{Method: "GET", Path: "/", Host: "h", Header: http.Header{"Mcp-Name": {"a\r\nHost: evil"}}}, "GET / HTTP/1.1\r\nHost: h\r\n"},
		{"a value with a NUL", Request{Method: "GET", Path: "/", Host: "h", Header: http.Header{"Mcp-Name": {"a\x00"}}}, "GET / HTTP/1.1\r\nHost: h\r\n"},
		{"headers that Connection names", Request{Method: "GET", Path: "/", Host: "h", Header: http.Header{"Connection": {"keep-alive, mcp-session-id", "Accept"}, "Mcp-Session-Id": {"1"}, "Accept": {"x"}, "Mcp-Name": {"n"}}}, "GET / HTTP/1.1\r\nHost: h\r\nMcp-Name: n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.x.AppendHead(nil)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestRepeatedHeader(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   http.Header
		want string
	}{
		{"lists may repeat", http.Header{"Accept": {"a", "b"}, "Tracestate": {"a", "b"}}, ""},
		{"what is dropped may repeat", http.Header{"X-Anything": {"a", "b"}, "Cookie": {"a", "b"}}, ""},
		{"a session is one", http.Header{"Mcp-Session-Id": {"a", "a"}}, "Mcp-Session-Id"},
		{"hops are one", http.Header{"Hosted-Bridge-Hops": {"0123456789abcdef", "0123456789abcdef"}}, "Hosted-Bridge-Hops"},
		{"a parameter is one", http.Header{"Mcp-Param-A": {"a", "b"}}, "Mcp-Param-A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, repeated := repeatedHeader(tt.in); got != tt.want || repeated != (tt.want != "") {
				t.Errorf("repeatedHeader = %q, %v, want %q", got, repeated, tt.want)
			}
		})
	}
}

func TestKeepAnswerHeader(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want http.Header
	}{
		{"cookies and names of software stay", http.Header{"Set-Cookie": {"a=b"}, "Server": {"x"}, "X-Powered-By": {"x"}, "Content-Type": {"application/json"}}, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}},
		{"what would open the origin stays", http.Header{"Access-Control-Allow-Origin": {"*"}, "Content-Security-Policy": {"x"}, "Clear-Site-Data": {"*"}, "Strict-Transport-Security": {"x"}, "Refresh": {"0;url=x"}, "Location": {"/x"}, "Link": {"x"}, "Www-Authenticate": {"Basic"}}, http.Header{"Cache-Control": {"no-store"}}},
		{"the protocol's headers go on", http.Header{"Mcp-Session-Id": {"1"}, "Mcp-Protocol-Version": {"x"}, "Retry-After": {"1"}, "Allow": {"POST"}, "Cache-Control": {"no-cache"}}, http.Header{"Mcp-Session-Id": {"1"}, "Mcp-Protocol-Version": {"x"}, "Retry-After": {"1"}, "Allow": {"POST"}, "Cache-Control": {"no-cache"}}},
		{"events are not collected on the way", http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "X-Accel-Buffering": {"no"}, "Cache-Control": {"no-store"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			KeepAnswerHeader(tt.in)
			if diff := cmp.Diff(tt.want, tt.in); diff != "" {
				t.Errorf("KeepAnswerHeader (-want +got):\n%s", diff)
			}
		})
	}
}
