// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sseClient is an ingress at a session of HTTP+SSE.
type sseClient struct {
	*rig
	t       *testing.T
	address string
	events  *bufio.Reader
	leave   func()
}

func (r *rig) openSSE(t *testing.T) *sseClient {
	t.Helper()
	req := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, r.sseURL(), nil))(t)
	req.Header.Set(audit.TrailerName, audit.InStreams)
	resp := must.Value(r.http.Do(req))(t)
	t.Cleanup(func() { _ = resp.Body.Close() })
	c := &sseClient{rig: r, t: t, events: bufio.NewReader(resp.Body), leave: func() { _ = resp.Body.Close() }}
	_, query, _ := strings.Cut(c.until("sessionid="), "?")
	c.address = r.sseURL() + "?" + strings.TrimSpace(query)
	c.call(1, "initialize", `"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"raw","version":"1"}`)
	if calls := toldIn(t, c.until(`"id":1`)); calls != nil {
		t.Errorf("told of %+v", calls)
	}
	return c
}

// until reads the stream to the line that has text.
func (c *sseClient) until(text string) (read string) {
	c.t.Helper()
	for !strings.Contains(read, text) {
		line, err := c.events.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%v after %q", err, read)
		}
		read += line
	}
	return read
}

// post sends a message with an id of its own, of which hold says what is asked.
func (c *sseClient) post(id int, body, hold string) *http.Response {
	c.t.Helper()
	req := must.Value(http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.address, strings.NewReader(body)))(c.t)
	for name, value := range asked(map[string]string{"Content-Type": "application/json", "X-Request-Id": fmt.Sprint(id), audit.PostName: hold}) {
		req.Header.Set(name, value)
	}
	resp := must.Value(c.http.Do(req))(c.t)
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusAccepted {
		c.t.Fatalf("%d", resp.StatusCode)
	}
	return resp
}

// call posts a request, and returns its answer, which may not have ended.
func (c *sseClient) call(id int, method, params string) *http.Response {
	c.t.Helper()
	resp := c.post(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params), audit.PostHold)
	if resp.Header.Get(audit.TrailerName) != audit.Later {
		c.t.Errorf("header %v", resp.Header)
	}
	return resp
}

// told reads a POST's answer to its end.
func (c *sseClient) told(resp *http.Response) (body string, calls []audit.Call) {
	c.t.Helper()
	read := must.Value(io.ReadAll(resp.Body))(c.t)
	if value := resp.Trailer.Get(audit.TrailerName); value != "" {
		told := must.Value(audit.ParseTrailer(value))(c.t)
		calls = told.Calls
	}
	return string(read), calls
}

// TestAMessageEndsWithItsRequest has several calls at once, in each mode, of which
// each is told of by the POST that brought it, before its answer.
func TestAMessageEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	for mode, params := range map[bridgeconfig.Mode]string{
		bridgeconfig.Direct: `"name":"t"`, bridgeconfig.Router: `"name":"mcp","arguments":{"tool":"t","params":{}}`,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := &script{answer: same(done)}
			r := newPolicyRig(t, Options{}, bridgeconfig.Config{Mode: mode, Servers: []bridgeconfig.Server{s.serve(t)}})
			awaitLists(t, r.bridge)
			c := r.openSSE(t)
			var posts []*http.Response
			for id := 2; id < 5; id++ {
				posts = append(posts, c.call(id, methods.CallTool, params))
			}
			for i, resp := range posts {
				body, calls := c.told(resp)
				expectOne(t, calls, "t")
				if body != `{"result":{}}` {
					t.Errorf("the answer to the POST is %s", body)
				}
				c.post(i+2, "", audit.PostDone)
				if read := c.until(fmt.Sprintf(`"id":%d`, i+2)); strings.Contains(read, audit.EventPrefix) {
					t.Errorf("it is told on the stream too: %s", read)
				}
			}
			body, calls := c.told(c.call(5, methods.CallTool, `"name":7`))
			if len(calls) != 0 || !strings.HasPrefix(body, `{"error":{"code":-32`) {
				t.Errorf("%s, told %+v", body, calls)
			}
		})
	}
}

// postHanging posts a call that hangs until release and waits until the server has it.
func postHanging(t *testing.T) (r *rig, c *sseClient, resp *http.Response, release func()) {
	t.Helper()
	server, began, release := hanging(t)
	t.Cleanup(release)
	r = newRig(t, fast, server)
	awaitLists(t, r.bridge)
	c = r.openSSE(t)
	resp = c.call(2, methods.CallTool, `"name":"hang"`)
	<-began
	return r, c, resp, release
}

// TestAClientThatClosesItsStreamEndsItsMessages has a call under way.
func TestAClientThatClosesItsStreamEndsItsMessages(t *testing.T) {
	t.Parallel()
	_, c, resp, _ := postHanging(t)
	c.leave()
	body, calls := c.told(resp)
	if body != "" || len(calls) != 1 || calls[0].Tool != "hang" || calls[0].Status != audit.Cancelled || calls[0].ErrorType != "client_left" {
		t.Errorf("%q, told %+v", body, calls)
	}
}

// TestACallOfAMessageThatBrokeOffIsToldOfOnTheStream ends the ingress that sent it.
func TestACallOfAMessageThatBrokeOffIsToldOfOnTheStream(t *testing.T) {
	t.Parallel()
	r, c, resp, release := postHanging(t)
	_ = resp.Body.Close()
	wait.Until(t, "the end of the POST", func() bool { return r.bridge.audit.InProgress() == 0 })
	release()
	expectOne(t, toldBefore(t, c.until(`"id":2`), `"id":2`), "hang")
}

// TestACancelledRequestEndsItsMessage is of a client that gives a call up and stays.
func TestACancelledRequestEndsItsMessage(t *testing.T) {
	t.Parallel()
	_, c, resp, _ := postHanging(t)
	c.post(3, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, audit.PostHold)
	if _, calls := c.told(resp); len(calls) != 1 || calls[0].Status != audit.Cancelled {
		t.Errorf("told %+v", calls)
	}
}
