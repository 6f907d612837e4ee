// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// open sends the beginning of a request on a connection of its own.
func (w *world) open(text string) net.Conn {
	w.t.Helper()
	conn := w.dial()
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	return conn
}

func TestABodyThatDoesNotComeHoldsNoConnection(t *testing.T) {
	config := defaults()
	config.BodyTimeout = 100 * time.Millisecond
	w, alice := oneUser(t, config, servedBy("alice"))
	authorized := "Authorization: Bearer " + alice + "\r\n"
	for _, test := range []struct{ name, line, header, body string }{
		{"to a path that does not exist", "POST /nothing", "", ""},
		{"without a key", "POST /u/alice/mcp", "", ""},
		{"without a key, after more than is looked at", "POST /u/alice/mcp", "", strings.Repeat("x", maxPeek+1000)},
		{"of another media type", "POST /u/alice/mcp", authorized + "Content-Type: text/plain\r\n", ""},
		{"of a call", "POST /u/alice/mcp", authorized + "Content-Type: application/json\r\n", "{"},
		{"of a GET", "GET /u/alice/mcp", authorized, ""},
		{"of a DELETE", "DELETE /u/alice/mcp", authorized, ""},
		{"to health", "GET /u/alice/health", authorized, ""},
		{"with a method that is not allowed", "PUT /u/alice/mcp", authorized, ""},
		{"larger than a secret", "PUT /u/alice/secrets/TOKEN", authorized, "x"},
		{"of a secret, without a key", "PUT /u/alice/secrets/TOKEN", "", ""},
		{"of a DELETE of a secret", "DELETE /u/alice/secrets/TOKEN", authorized, ""},
		{"to secrets", "GET /u/alice/secrets", authorized, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := w.open(fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 200000\r\n\r\n%s", test.line, test.header, test.body))
			if err := conn.SetReadDeadline(time.Now().Add(wait.Limit)); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the connection is still open, after %q", answer)
			}
			if !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("the answer is %.100q, want a refusal", answer)
			}
		})
	}
}

func TestAValueThatBreaksOffSetsNothing(t *testing.T) {
	config := defaults()
	config.BodyTimeout = 100 * time.Millisecond
	for name, header := range map[string]string{"of a known length": "Content-Length: 200", "in chunks": "Transfer-Encoding: chunked"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w, alice, _ := secretsWorld(t, config)
				conn := w.open("PUT /u/alice/secrets/TOKEN HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\n" + header + "\r\n\r\n3\r\nval\r\n")
				if err := conn.SetReadDeadline(time.Now().Add(wait.Limit)); err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(conn)
				if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") || !strings.Contains(string(answer), `"body_unreadable"`) {
					t.Errorf("%v: %s", err, answer)
				}
				if calls := w.secrets.calls(); len(calls) != 0 {
					t.Errorf("the keybroker was asked %v", calls)
				}
			})
		})
	}
}

func TestTheBodiesOfOneUserLeaveRoomForOthers(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice")) // A user may take 4 MiB.
	header := "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + alice + "\r\n"
	slow := w.open(header + fmt.Sprintf("Content-Length: %d\r\n\r\n{", 3<<20))
	if _, err := io.WriteString(slow, strings.Repeat("x", 3<<20-2)); err != nil {
		t.Fatal(err)
	}
	held := func() int64 {
		return w.server.router.bounds.memory.Bodies.Held()
	}
	eventually(t, func() bool { return held() == 3<<20 })

	large := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"` + strings.Repeat("x", 2<<20) + `"}`
	got := w.do(w.request("POST", "/u/alice/mcp", alice, large))
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"busy"`) || got.header.Get("Retry-After") != "5" {
		t.Errorf("more than the user's share: %d %s", got.status, got.body)
	}
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != http.StatusOK {
		t.Errorf("a small call beside it: %d %s", got.status, got.body)
	}
	// The caller who leaves gives back what was reserved for them.
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return held() == 0 })
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, large)); got.status != http.StatusOK {
		t.Errorf("after that: %d %s", got.status, got.body)
	}
	eventually(t, func() bool { return held() == 0 })
}
