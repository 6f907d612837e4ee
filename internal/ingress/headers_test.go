// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
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
	x := &exchange{method: "POST", path: "/u/alice/mcp", host: "h:1", header: in}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(x.AppendHead(nil)) + "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r.Header
}

func TestAHeadIsMadeOfWhatWasChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    exchange
		want string
	}{
		{"a message", exchange{method: "POST", path: "/u/alice/mcp", host: "10.0.0.1:8443", requestID: "f00"}, "POST /u/alice/mcp HTTP/1.1\r\nHost: 10.0.0.1:8443\r\nX-Request-Id: f00\r\nHosted-Bridge-Audit: in-streams\r\n"},
		{"a message of the old transport", exchange{method: "POST", path: "/u/alice/sse", query: "sessionid=s.1", host: "h"}, "POST /u/alice/sse?sessionid=s.1 HTTP/1.1\r\nHost: h\r\n"},
		{"the client's request id", exchange{method: "GET", path: "/", host: "h", requestID: "ours", header: http.Header{"X-Request-Id": {"theirs"}}}, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: ours\r\nHosted-Bridge-Audit: in-streams\r\n"},
		{"a value that ends its line", exchange{method: "GET", path: "/", host: "h", header: http.Header{"Mcp-Name": {"a\r\nHost: evil"}}}, "GET / HTTP/1.1\r\nHost: h\r\n"},
		{"a value with a NUL", exchange{method: "GET", path: "/", host: "h", header: http.Header{"Mcp-Name": {"a\x00"}}}, "GET / HTTP/1.1\r\nHost: h\r\n"},
		{"headers that Connection names", exchange{method: "GET", path: "/", host: "h", header: http.Header{"Connection": {"keep-alive, mcp-session-id", "Accept"}, "Mcp-Session-Id": {"1"}, "Accept": {"x"}, "Mcp-Name": {"n"}}}, "GET / HTTP/1.1\r\nHost: h\r\nMcp-Name: n\r\n"},
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

func TestHopsAreInTheirFormOrTheRequestIsRefused(t *testing.T) {
	const hop = "0123456789abcdef"
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte(r.Header.Get("Hosted-Bridge-Hops")))
	})
	for _, test := range []struct {
		name, value string
		ok          bool
	}{
		{"one", hop, true},
		{"eight", hop + strings.Repeat(","+hop, 7), true},
		{"nine", hop + strings.Repeat(","+hop, 8), false},
		{"none", "", false},
		{"upper case", strings.ToUpper(hop), false},
		{"a space", hop + ", " + hop, false},
		{"a comma at the end", hop + ",", false},
		{"a shorter one", hop[1:], false},
		{"a longer one", hop + "0", false},
		{"something else", "x", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := w.request("GET", "/u/alice/mcp", alice, "")
			r.Header.Set("Hosted-Bridge-Hops", test.value)
			got := w.do(r)
			if test.ok && (got.status != http.StatusOK || got.body != test.value) {
				t.Errorf("%d %q", got.status, got.body)
			}
			if !test.ok && (got.status != http.StatusBadRequest || !strings.Contains(got.body, "hops_invalid")) {
				t.Errorf("%d %q", got.status, got.body)
			}
		})
	}
}

func TestALongSessionPassesBothWays(t *testing.T) {
	id := strings.Repeat("aB3_-.", 683)[:4096]
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
	})
	for _, http2 := range []bool{false, true} {
		if http2 {
			w.useHTTP2()
		}
		r := w.request("POST", "/u/alice/mcp", alice, toolCall)
		r.Header.Set("Mcp-Session-Id", id)
		if got := w.do(r); got.status != http.StatusOK || got.header.Get("Mcp-Session-Id") != id {
			t.Errorf("HTTP/2 %v: %d, an id of %d characters", http2, got.status, len(got.header.Get("Mcp-Session-Id")))
		}
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
			keepAnswerHeader(tt.in)
			if diff := cmp.Diff(tt.want, tt.in); diff != "" {
				t.Errorf("keepAnswerHeader (-want +got):\n%s", diff)
			}
		})
	}
}

// seen is what a bridge saw of a request.
type seen struct {
	Method, Target, Host string
	Header               http.Header
	Trailer              http.Header
}

func TestSmuggledHeadersDoNotArrive(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(rw).Encode(seen{r.Method, r.RequestURI, r.Host, r.Header, r.Trailer})
	})
	w.setPod("alice", "alice-1", hosts[0])
	for name, extra := range map[string]string{
		"Connection names our own header":     "Connection: close, X-Request-Id\r\n",
		"Connection names the session":        "Connection: close, Mcp-Session-Id\r\nMcp-Session-Id: s\r\n",
		"an upgrade":                          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
		"names with underscores":              "X_User_Id: bob\r\nMcp_Session_Id: s\r\nmcp-param-a_b: x\r\n",
		"claimed addresses":                   "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: bob\r\nForwarded: for=6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\nX-Forwarded-Prefix: /u/bob\r\n",
		"rewriting hints":                     "X-Original-URL: /u/bob/mcp\r\nX-Rewrite-URL: /u/bob/mcp\r\nX-HTTP-Method-Override: DELETE\r\n",
		"credentials":                         "X-API-Key: " + alice + "\r\nCookie: key=" + alice + "\r\nProxy-Authorization: Basic x\r\n",
		"a claimed identity":                  "X-User-Id: bob\r\nX-Forwarded-User: bob\r\nX-Client-Cert: x\r\n",
		"a name that differs by case":         "AUTHORIZATION-X: 1\r\nmcp-NAME-x: 1\r\n",
		"a wish for trailers":                 "TE: trailers\r\nTrailer: X-User-Id\r\n",
		"an expectation":                      "Expect: 200-maybe\r\n",
		"a promise to be idempotent":          "Idempotency-Key: 1\r\n",
		"a range":                             "Range: bytes=0-1\r\nIf-None-Match: x\r\nAccept-Encoding: gzip\r\n",
		"a header that looks like a pseudo 2": "X-Authority: bob\r\nX-Path: /u/bob/mcp\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := w.raw("GET /u/alice/mcp HTTP/1.1\r\nHost: public.example\r\nAuthorization: Bearer " + alice + "\r\n" + extra + "\r\n")
			if name == "an expectation" {
				if got.status != http.StatusExpectationFailed {
					t.Errorf("status = %d, want 417", got.status)
				}
				return
			}
			var s seen
			if err := json.Unmarshal([]byte(got.body), &s); err != nil {
				t.Fatalf("status %d: %v: %s", got.status, err, got.body)
			}
			if len(s.Header["X-Request-Id"]) != 1 || s.Header.Get("X-Request-Id") != got.header.Get("X-Request-Id") {
				t.Errorf("X-Request-Id = %q, want the answer's, %q", s.Header["X-Request-Id"], got.header.Get("X-Request-Id"))
			}
			delete(s.Header, "X-Request-Id")
			if told := s.Header[audit.TrailerName]; len(told) != 1 || told[0] != audit.InStreams {
				t.Errorf("%s = %q", audit.TrailerName, told)
			}
			delete(s.Header, audit.TrailerName)
			want := seen{Method: "GET", Target: "/u/alice/mcp", Host: net.JoinHostPort(hosts[0], strconv.Itoa(w.port)), Header: http.Header{}}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("the bridge saw (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrailersOfARequestDoNotArrive(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
		var message map[string]any
		_ = json.NewDecoder(r.Body).Decode(&message)
		_ = json.NewEncoder(rw).Encode(seen{r.Method, r.RequestURI, "", nil, r.Trailer})
	})
	w.setPod("alice", "alice-1", hosts[0])
	got := w.raw("POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice +
		"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-User-Id\r\n\r\n2\r\n{}\r\n0\r\nX-User-Id: bob\r\n\r\n")
	if want := `{"Method":"POST","Target":"/u/alice/mcp","Host":"","Header":null,"Trailer":null}` + "\n"; got.body != want {
		t.Errorf("the bridge saw %s, want %s", got.body, want)
	}
}

func TestAnswersCarryTheBaseHeader(t *testing.T) {
	w, alice, _ := twoUsers(t)
	for _, r := range []*http.Request{
		w.request("GET", "/u/alice/mcp", alice, ""),
		w.request("GET", "/u/alice/health", alice, ""),
		w.request("GET", "/u/alice/mcp", "", ""),
		w.request("GET", "/u/bob/mcp", alice, ""),
		w.request("PUT", "/u/alice/mcp", alice, ""),
		w.request("GET", "/nothing", "", ""),
	} {
		got := w.do(r)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; sandbox",
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-store",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s %s: %s = %q, want %q", r.Method, r.URL.Path, name, got.header.Get(name), want)
			}
		}
	}
}
