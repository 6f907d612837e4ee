// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sendAll writes a request with a large body to its end, as some clients do, and only then reads
// the answer.
func (w *world) sendAll(conn net.Conn, line, header string, size int, chunked bool) (status int, err error) {
	framing, body := fmt.Sprintf("Content-Length: %d", size), strings.Repeat("x", size)
	if chunked {
		framing, body = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
	}
	if _, err := io.WriteString(conn, line+" HTTP/1.1\r\nHost: x\r\n"+header+framing+"\r\n\r\n"); err != nil {
		return 0, fmt.Errorf("send the header: %w", err)
	}
	for len(body) > 0 {
		n := min(len(body), 256<<10)
		if _, err := io.WriteString(conn, body[:n]); err != nil {
			return 0, fmt.Errorf("send the body: %w", err)
		}
		body = body[n:]
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	defer res.Body.Close()
	_, err = io.ReadAll(res.Body)
	return res.StatusCode, err
}

// TestALargeBodyThatIsRefusedIsAnsweredWithAStatus sends many large bodies at once that are refused
// before they are read. A connection that is reset instead tells its client nothing.
func TestALargeBodyThatIsRefusedIsAnsweredWithAStatus(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	authorized := "Authorization: Bearer " + alice + "\r\n"
	const asJSON = "Content-Type: application/json\r\n"
	for _, test := range []struct {
		name, line, header string
		size, times        int
		chunked            bool
		want               []int
	}{
		{"more at once than the memory holds", "POST /u/alice/mcp", authorized + asJSON, 3_900_000, 12, false, []int{400}},
		{"more than the tier allows", "POST /u/alice/mcp", authorized + asJSON, 10 << 20, 4, false, []int{413}},
		{"the same in chunks", "POST /u/alice/mcp", authorized + asJSON, 10 << 20, 4, true, []int{413}},
		{"of another media type", "POST /u/alice/mcp", authorized + "Content-Type: text/plain\r\n", 10 << 20, 2, false, []int{415}},
		{"without a key", "POST /u/alice/mcp", asJSON, 10 << 20, 2, false, []int{401}},
		{"to a path that does not exist", "POST /nothing", "", 10 << 20, 2, false, []int{404}},
		{"of a secret", "PUT /u/alice/secrets/TOKEN", authorized, 10 << 20, 2, false, []int{404, 413}},
		{"of a message of HTTP+SSE", "POST /u/alice/sse?sessionid=none", authorized + asJSON, 10 << 20, 2, false, []int{413}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all sync.WaitGroup
			for range test.times {
				conn := w.dial()
				_ = conn.SetDeadline(time.Now().Add(2 * wait.Limit))
				all.Go(func() {
					status, err := w.sendAll(conn, test.line, test.header, test.size, test.chunked)
					found := status == http.StatusServiceUnavailable // Those at once take each other's memory.
					for _, want := range test.want {
						found = found || status == want
					}
					if !found {
						t.Errorf("the answer is %d, %v, want one of %v or 503", status, err, test.want)
					}
				})
			}
			all.Wait()
		})
	}
	eventually(t, func() bool { return w.server.linger.places.Held() == 0 })
}

// TestABodyThatIsRefusedHoldsNothing keeps the rest of refused bodies back. Their users' memory and
// calls are free, and the connections end soon.
func TestABodyThatIsRefusedHoldsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.BodyTimeout = 200 * time.Millisecond
		w, alice := oneUser(t, config, servedBy("alice"))
		conn := w.open("POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + alice + "\r\nContent-Length: 9999999\r\n\r\n" + strings.Repeat("x", maxPeek))
		_ = conn.SetDeadline(time.Now().Add(wait.Limit))
		answer := bufio.NewReader(conn)
		if line, err := answer.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 413") {
			t.Fatalf("the answer is %q, %v", line, err)
		}
		if held := w.server.router.bounds.memory.Bodies.Held(); held != 0 {
			t.Errorf("%d bytes are reserved", held)
		}
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != http.StatusOK {
			t.Errorf("a call beside it: %d %s", got.status, got.body)
		}
		if _, err := io.Copy(io.Discard, answer); err != nil {
			t.Errorf("the connection ends with %v", err)
		}
	})
}

// TestEndlessBodiesEnd sends more than is dropped.
func TestEndlessBodiesEnd(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	conn := w.open("POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + alice + "\r\nContent-Length: 999999999999\r\n\r\n")
	_ = conn.SetDeadline(time.Now().Add(2 * wait.Limit))
	piece := make([]byte, 1<<20)
	for sent := 0; ; sent += len(piece) {
		if _, err := conn.Write(piece); err != nil {
			return // The connection was closed.
		}
		if sent > 4*lingerBytes {
			t.Fatalf("%d bytes of a refused body were taken", sent)
		}
	}
}
