// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// chatty is a server whose tool says the given amount of what belongs to no
// request.
func chatty(t *testing.T, size int) mcpserver.Server {
	t.Helper()
	s := emptyServer(nil)
	rawTool(s, "say", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := req.Session.Log(context.WithoutCancel(t.Context()), &mcp.LoggingMessageParams{Level: "info", Data: strings.Repeat("x", size) + string(req.Params.Arguments)})
		return said("said"), err
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	return mcpserver.Server{Name: "one", URL: upstream.URL}
}

// say has the session's server say something with the number in it.
func (h *house) say(t *testing.T, header map[string]string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{"n":%d}}}`, 100+n, n)
	if resp, answer := h.do(t, "POST", h.url, body, header); resp.StatusCode != http.StatusOK || !strings.Contains(answer, `"said"`) {
		t.Errorf("the call is answered with %d %s", resp.StatusCode, answer)
	}
}

// listens has the session's client hear what its servers log.
func (h *house) listens(t *testing.T) map[string]string {
	t.Helper()
	header := h.session(t)
	if resp, answer := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`, header); resp.StatusCode != http.StatusOK {
		t.Fatalf("the log level is answered with %d %s", resp.StatusCode, answer)
	}
	return header
}

// awaitSaid waits for what the server said with the number.
func awaitSaid(t *testing.T, events <-chan string, n int) {
	t.Helper()
	for !strings.Contains(next(t, events, fmt.Sprintf("message %d", n)), fmt.Sprintf(`{\"n\":%d}`, n)) {
	}
}

// TestTheNewestStreamTakesOver opens a session's stream again while the one
// before is open, as for a bridge that has not heard yet that it is not.
func TestTheNewestStreamTakesOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, chatty(t, 1))
	header := h.listens(t)
	_, former := h.events(t, "GET", "", header)
	next(t, former, "beginning of the stream")
	for n := range 3 {
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the stream is answered with %d", resp.StatusCode)
		}
		for range former { // Until it has ended.
		}
		h.say(t, header, n)
		awaitSaid(t, events, n)
		former = events
	}
}

// TestOneOfManyStreamsIsLeft opens a session's stream many times at once.
func TestOneOfManyStreamsIsLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t, chatty(t, 1))
	header := h.listens(t)
	var wait sync.WaitGroup
	streams := make(chan (<-chan string), 20)
	for range cap(streams) {
		wait.Go(func() {
			resp, events := h.events(t, "GET", "", header)
			if resp.StatusCode != http.StatusOK {
				t.Errorf("the stream is answered with %d", resp.StatusCode)
			}
			streams <- events
		})
	}
	wait.Wait()
	h.say(t, header, 7)
	close(streams)
	heards := make(chan bool, cap(streams))
	for events := range streams {
		go func() {
			found := false
			for event := range events {
				if found = strings.Contains(event, `{\"n\":7}`); found {
					break
				}
			}
			heards <- found
		}()
	}
	count := 0
	for range cap(streams) {
		if next(t, heards, "end of a stream, or the message") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d streams had the message, want one", count)
	}
}

// TestAnAnswerGoesToTheNewestStream asks for the rest of an answer while its
// POST, and another request for it, are open.
func TestAnAnswerGoesToTheNewestStream(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	h := newHouse(t, server)
	defer release()
	header := h.session(t)
	_, former := h.events(t, "POST", `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"hang"}}`, header)
	header["Last-Event-Id"] = idOf(t, next(t, former, "first event"))
	next(t, began, "call")
	for range 2 {
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the stream is answered with %d", resp.StatusCode)
		}
		for event := range former {
			if strings.Contains(event, "data: {") {
				t.Errorf("the one before ends with %s", event)
			}
		}
		former = events
	}
	release()
	if answer := next(t, former, "answer"); !strings.Contains(answer, `"id":42`) || !strings.Contains(answer, "done") {
		t.Errorf("answer = %s", answer)
	}
}

// TestAStreamIsTakenFromWhoReadsNothing opens a session's stream again while the
// bridge writes to a client that is gone without a word.
func TestAStreamIsTakenFromWhoReadsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, chatty(t, 1<<20))
	header := h.listens(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	must.Succeed(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "GET /u/alice/mcp HTTP/1.1\r\nHost: bridge\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n", header["Mcp-Session-Id"])
	if err != nil {
		t.Fatal(err)
	}
	beginning := make([]byte, len("HTTP/1.1 200 OK"))
	if _, err := conn.Read(beginning); err != nil || string(beginning) != "HTTP/1.1 200 OK" {
		t.Fatalf("the stream begins with %q, %v", beginning, err)
	}
	// More than the sockets' buffers take, and more than is kept.
	const all = 24
	for n := range all {
		h.say(t, header, n)
	}
	began := time.Now()
	resp, events := h.events(t, "GET", "", header)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream is answered with %d", resp.StatusCode)
	}
	if took := time.Since(began); took < session.YieldTimeout {
		t.Errorf("the stream was taken within %s, so that nothing was being written", took)
	}
	h.say(t, header, all)
	awaitSaid(t, events, all)
}

// TestAStreamIsOpenedWhoseBeginningIsGone opens it without naming an event, and
// by one that is not kept any more.
func TestAStreamIsOpenedWhoseBeginningIsGone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, chatty(t, 1<<20))
	header := h.listens(t)
	_, events := h.events(t, "GET", "", header)
	next(t, events, "beginning of the stream")
	h.say(t, header, 0)
	first := idOf(t, next(t, events, "first message"))
	const more = 2 * session.ReplayBytes >> 20
	for n := range more {
		h.say(t, header, n+1)
		awaitSaid(t, events, n+1)
	}
	for _, last := range []string{"", first} {
		if last != "" {
			header["Last-Event-Id"] = last
		}
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("after %q the stream is answered with %d", last, resp.StatusCode)
		}
		awaitSaid(t, events, more)
	}
}
