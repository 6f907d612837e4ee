// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// conversation sends bytes as they are and returns all answers that come until
// the connection ends.
func (w *world) conversation(message string) []reply {
	w.t.Helper()
	conn := w.dial()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	if _, err := io.WriteString(conn, message); err != nil {
		w.t.Fatal(err)
	}
	var answers []reply
	for r := bufio.NewReader(conn); ; {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				w.t.Fatalf("the connection stays open after %d answers", len(answers))
			}
			return answers
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		answers = append(answers, reply{res.StatusCode, res.Header, string(body), res.Close})
	}
}

// TestNothingIsSmuggled sends what a proxy in front may take for one request
// and the ingress for two, or the reverse. What is behind the first one's end
// would be the beginning of somebody else's request, or would swallow it.
func TestNothingIsSmuggled(t *testing.T) {
	w, alice, bob := twoUsers(t)
	post := "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nContent-Type: application/json\r\n"
	hidden := "GET /u/bob/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + bob + "\r\n\r\n"
	for _, tt := range []struct{ name, message string }{
		{"a length and chunks", post + "Content-Length: 90\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"chunks and a length", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"chunks alone", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"chunks twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"chunks and something else", post + "Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a tab before chunked", post + "Transfer-Encoding:\tchunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a space behind the name", post + "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}" + hidden},
		{"a vertical tab before chunked", post + "Transfer-Encoding: \x0bchunked\r\nContent-Length: 2\r\n\r\n{}" + hidden},
		{"a folded coding", post + "Transfer-Encoding:\r\n chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a coding behind a bare CR", post + "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}" + hidden},
		{"a chunk size with a sign", post + "Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a chunk size with a prefix", post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a chunk size beyond 64 bits", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n" + hidden},
		{"a chunk that ends with LF", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n" + hidden},
		{"a chunk that is longer than it says", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}}\r\n0\r\n\r\n" + hidden},
		{"a length with a sign", post + "Content-Length: +2\r\n\r\n{}" + hidden},
		{"a length that is a list", post + "Content-Length: 2, 90\r\n\r\n{}" + hidden},
		{"two lengths", post + "Content-Length: 2\r\nContent-Length: 90\r\n\r\n{}" + hidden},
		{"a GET with a body", "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + alice + "\r\nContent-Length: " + "2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, got := range w.conversation(tt.message) {
				if strings.Contains(got.body, `"servedBy":"bob"`) {
					t.Errorf("answer %d is to the hidden request: %s", i, got.body)
				}
			}
		})
	}
}

func TestWhoWaitsForAWordBeforeTheBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.BodyTimeout = 100 * time.Millisecond
		w, alice := oneUser(t, config, echo)
		head := "POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
		auth := "Authorization: Bearer " + alice + "\r\n"
		for _, tt := range []struct {
			name, message string
			want          []int
		}{
			{"is told to go on", head + auth + "Connection: close\r\nExpect: 100-continue\r\n\r\n{}", []int{100, 200}},
			{"is refused without being told to", head + "Expect: 100-continue\r\n\r\n", []int{401}},
			{"is refused for its media type", strings.Replace(head, "application/json", "text/plain", 1) + auth + "Expect: 100-continue\r\n\r\n", []int{415}},
			{"has the time that bodies have", head + auth + "Expect: 100-continue\r\n\r\n", []int{100, 400}},
			{"may expect nothing else", head + auth + "Expect: 200-ok\r\n\r\n{}", []int{417}},
		} {
			var got []int
			for _, answer := range w.conversation(tt.message) {
				got = append(got, answer.status)
			}
			if len(got) != len(tt.want) || got[0] != tt.want[0] || got[len(got)-1] != tt.want[len(tt.want)-1] {
				t.Errorf("who %s: statuses %v, want %v", tt.name, got, tt.want)
			}
		}
	})
}
