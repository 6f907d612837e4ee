// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// servedBy is a bridge that says whose it is.
func servedBy(user string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"servedBy":%q,"path":%q}`, user, r.RequestURI)
	}
}

// twoUsers is a world of alice and bob, both running, with their keys.
func twoUsers(t testing.TB) (w *world, alice, bob string) {
	t.Helper()
	w = newWorld(t, defaults())
	alice, bob = w.addUser("alice"), w.addUser("bob")
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	w.serveBridge(hosts[1], "uid-bob", servedBy("bob"))
	w.setPod("alice", "alice-1", hosts[0])
	w.setPod("bob", "bob-1", hosts[1])
	return w, alice, bob
}

func TestHostileTargetsReachNobody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := twoUsers(t)
		want := w.raw("GET /nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nConnection: close\r\n\r\n")
		if want.status != http.StatusNotFound {
			t.Fatalf("status of an unknown path = %d, want 404", want.status)
		}
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "TRACE", "PUT", "CONNECT", "PROPFIND"} {
			for name, target := range hostileTargets {
				got := w.raw(method + " " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				if strings.Contains(got.body, "servedBy") {
					t.Errorf("%s %s reached a bridge at %q: %s", method, name, target, got.body)
				}
				// net/http itself refuses what it cannot parse.
				if got.status == http.StatusBadRequest {
					continue
				}
				if diff := cmp.Diff(withoutChance(want), withoutChance(got), cmp.AllowUnexported(reply{})); diff != "" {
					t.Errorf("%s %s: the answer differs from that to an unknown path (-want +got):\n%s", method, name, diff)
				}
			}
		}
	})
}

// withoutChance takes out of an answer what differs between any two.
func withoutChance(r reply) reply {
	r.header = r.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id"} {
		if r.header.Get(name) == "" {
			r.body = name + " is missing"
		}
		r.header.Set(name, "some")
	}
	return r
}

func TestHostileMessagesReachNobody(t *testing.T) {
	w, alice, _ := twoUsers(t)
	auth := "Authorization: Bearer " + alice + "\r\n"
	for name, message := range map[string]string{
		"a NUL in the target":               "GET /u/alice\x00/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n",
		"a space in the target":             "GET /u/alice /mcp HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n",
		"a tab in the target":               "GET /u/alice\t/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n",
		"two Host headers":                  "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nHost: y\r\n" + auth + "\r\n",
		"no Host header":                    "GET /u/alice/mcp HTTP/1.1\r\n" + auth + "\r\n",
		"a folded header":                   "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n" + auth + "Authorization : Bearer x\r\n\r\n",
		"a header name with a space":        "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Mcp-Session-Id : 1\r\n\r\n",
		"both lengths":                      "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Type: application/json\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}{",
		"an unknown transfer coding":        "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Type: application/json\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
		"a negative length":                 "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Type: application/json\r\nContent-Length: -1\r\n\r\n",
		"a header beyond 32 KiB":            "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		"HTTP/3.0 in the request line":      "GET /u/alice/mcp HTTP/3.0\r\nHost: x\r\n" + auth + "\r\n",
		"a host with a path":                "GET /u/alice/mcp HTTP/1.1\r\nHost: x/u/bob\r\n" + auth + "Origin: http://x/u/bob\r\n\r\n",
		"a repeated session":                "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Mcp-Session-Id: 1\r\nMcp-Session-Id: 2\r\n\r\n",
		"a repeated protocol version":       "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Mcp-Protocol-Version: 1\r\nmcp-protocol-version: 2\r\n\r\n",
		"a repeated parameter":              "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Mcp-Param-A: 1\r\nMcp-Param-A: 1\r\n\r\n",
		"a repeated key":                    "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + auth + "\r\n",
		"both lengths of a secret":          "PUT /u/alice/secrets/TOKEN HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nvalue",
		"a space in a secret's name":        "PUT /u/alice/secrets/TOKEN X HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 5\r\n\r\nvalue",
		"a NUL in a secret's name":          "PUT /u/alice/secrets/TOKEN\x00 HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 5\r\n\r\nvalue",
		"a content type that is sent twice": "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			got := w.raw(message)
			if got.status < 400 || got.status >= 500 && got.status != http.StatusNotImplemented && got.status != http.StatusHTTPVersionNotSupported {
				t.Errorf("status = %d, want a refusal", got.status)
			}
			if strings.Contains(got.body, "servedBy") {
				t.Errorf("a bridge answered: %s", got.body)
			}
		})
	}
}

func TestKnownPathWithAnotherMethodNamesTheMethods(t *testing.T) {
	w, alice, _ := twoUsers(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"PUT", "/u/alice/mcp", "POST, GET, DELETE"},
		{"OPTIONS", "/u/alice/mcp", "POST, GET, DELETE"},
		{"HEAD", "/u/alice/mcp", "POST, GET, DELETE"},
		{"PATCH", "/u/nobody/mcp", "POST, GET, DELETE"},
		{"PUT", "/u/alice/sse", "POST, GET"},
		{"DELETE", "/u/alice/sse?sessionid=a", "POST, GET"},
		{"POST", "/u/alice/sse", "GET"},
		{"POST", "/u/alice/sse?", "GET"},
		{"POST", "/u/alice/health", "GET"},
		{"TRACE", "/u/alice/health", "GET"},
		{"PUT", "/u/alice/secrets", "GET"},
		{"POST", "/u/alice/secrets/TOKEN", "GET, DELETE, PUT"},
		{"HEAD", "/u/alice/secrets/TOKEN", "GET, DELETE, PUT"},
		{"PATCH", "/u/nobody/secrets/TOKEN", "GET, DELETE, PUT"},
	} {
		got := w.do(w.request(tt.method, tt.path, alice, ""))
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != tt.allow {
			t.Errorf("%s %s = %d, Allow %q, want 405, %q", tt.method, tt.path, got.status, got.header.Get("Allow"), tt.allow)
		}
	}
}

func TestQueryIsNeitherReadNorPassedOnNorLogged(t *testing.T) {
	w, alice, _ := twoUsers(t)
	if got := w.do(w.request("GET", "/u/alice/mcp?api_key="+alice, "", "")); got.status != http.StatusUnauthorized {
		t.Errorf("key in the URL: status = %d, want 401", got.status)
	}
	got := w.do(w.request("GET", "/u/alice/mcp?a=canary", alice, ""))
	if got.body != `{"servedBy":"alice","path":"/u/alice/mcp"}` {
		t.Errorf("body = %s, want alice's bridge without a query", got.body)
	}
	w.do(w.request("GET", "/"+alice, "", ""))
	for _, secret := range []string{alice, "canary"} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log contains %q", "a secret of the request")
		}
	}
}
