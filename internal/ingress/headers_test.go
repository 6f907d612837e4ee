// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

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
