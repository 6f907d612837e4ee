// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestABridgeSaysThatItIsBusy has a call in flight by each way to a bridge. By
// HTTP+SSE no request of the client is open meanwhile that shows it.
func TestABridgeSaysThatItIsBusy(t *testing.T) {
	t.Parallel()
	for way, connect := range map[string]func(*rig) *mcp.ClientSession{
		"a request without a session": func(r *rig) *mcp.ClientSession { return r.connect(t, "modern", nil) },
		"a request in a session":      func(r *rig) *mcp.ClientSession { return r.connect(t, "legacy", nil) },
		"HTTP+SSE":                    func(r *rig) *mcp.ClientSession { return r.connectSSE(t, "", nil) },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			goOn := make(chan struct{})
			w := newSlowServer(t, "legacy", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-goOn
				return said("done"), nil
			})
			r := newRig(t, fast, w.Server)
			r.bridge.UseSecrets(secretsOf("r1", "TOKEN", "first-token"))
			client := connect(r)
			// The end of a request comes after its answer.
			idle := func() bool { return r.bridge.Health().Busy == 0 }
			wait.Until(t, "a client that does nothing has no call in flight", idle)
			answers := outcomeOf(t, client)
			next(t, w.began, "call")
			if busy := r.bridge.Health().Busy; busy != 1 {
				t.Errorf("busy = %d with a call in flight, want 1", busy)
			}
			close(goOn)
			if got := next(t, answers, "answer"); got != "done" {
				t.Errorf("answer = %s", got)
			}
			wait.Until(t, "no call is in flight after the call", idle)
		})
	}
}

// TestACallWhosePOSTBrokeIsInFlight has a client lose the stream of a call and
// get the answer from another.
func TestACallWhosePOSTBrokeIsInFlight(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	h := newHouse(t, server)
	defer release()
	header := h.session(t)
	post := must.Value(h.http.Do(h.newPost(t.Context(), t, toolCall(42, "hang"), header)))(t)
	defer post.Body.Close()
	header["Last-Event-Id"] = firstID(t, post)
	next(t, began, "call")
	h.front.CloseClientConnections()
	wait.Until(t, "the end of the POST", func() bool { return h.bridge.clients.calls.OpenPosts() == 0 })
	if busy := h.bridge.Health().Busy; busy != 1 {
		t.Errorf("busy = %d with a call that goes on, want 1", busy)
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if left := h.bridge.Drain(now); left != 1 {
		t.Errorf("a drain leaves %d calls, want the one that goes on", left)
	}
	release()
	if left := h.bridge.Drain(t.Context()); left != 0 {
		t.Errorf("%d calls are left", left)
	}
	if resp, body := h.do(t, "GET", h.url, "", header); resp.StatusCode != http.StatusOK || !strings.Contains(body, "done") {
		t.Errorf("the rest of the answer is %d %s", resp.StatusCode, body)
	}
}

func TestOnlySoManyLegacyCallsAreWorkedOn(t *testing.T) {
	t.Parallel()
	server, _, _ := hanging(t)
	h := newHouse(t, server)
	header := h.session(t)
	ends := make([]func(), 0, session.MaxPosted)
	for range session.MaxPosted {
		end, ok := h.bridge.clients.calls.AddPosted()
		if !ok {
			t.Fatalf("only %d are taken", len(ends))
		}
		ends = append(ends, end)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if _, body := h.do(t, "POST", h.url, list, header); !strings.Contains(body, `"too_many_calls"`) {
		t.Errorf("one more is answered with %s", body)
	}
	if busy := h.bridge.Health().Busy; busy != session.MaxPosted {
		t.Errorf("busy = %d, want %d", busy, session.MaxPosted)
	}
	for _, end := range ends {
		end()
	}
	if resp, body := h.do(t, "POST", h.url, list, header); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"result"`) {
		t.Errorf("afterwards: %d %s", resp.StatusCode, body)
	}
}
