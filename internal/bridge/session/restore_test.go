// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestOnlyAnIdOfThisBridgeIsRestored(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.session(t)["Mcp-Session-Id"]
	sign := func(keys [][]byte, owner string, issued time.Time, client string) string {
		id, _ := must.Values(token.NewKeys(keys, owner).SignSession(token.Session{Version: "2025-11-25", Client: []byte(client), Issued: issued}, bytes.NewReader(make([]byte, 16))))(t)
		return id
	}
	now := time.Now()
	tests := map[string]struct {
		id   string
		want int
	}{
		"its own":                        {id, http.StatusOK},
		"its own cut off":                {id[:len(id)-1], http.StatusNotFound},
		"its own with another character": {id[:20] + string(id[20]^1) + id[21:], http.StatusNotFound},
		"one that another key signed":    {sign([][]byte{bytes.Repeat([]byte{2}, 32)}, "alice/uid-1", now, `{}`), http.StatusNotFound},
		"one of another user":            {sign(sessionKeys, "bob/uid-1", now, `{}`), http.StatusNotFound},
		"one of an earlier bridge":       {sign(sessionKeys, "alice/uid-0", now, `{}`), http.StatusNotFound},
		"one that is more than 30 days":  {sign(sessionKeys, "alice/uid-1", now.Add(-SessionAge-time.Hour), `{}`), http.StatusNotFound},
		"one that is almost 30 days":     {sign(sessionKeys, "alice/uid-1", now.Add(-SessionAge+time.Hour), `{}`), http.StatusOK},
	}
	h.move(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{"Mcp-Session-Id": tt.id, "Mcp-Protocol-Version": "2025-11-25"}
			for _, method := range []string{"POST", "DELETE", "POST"} {
				resp, body := h.do(t, method, h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header)
				want := tt.want
				if method == "DELETE" && want == http.StatusOK {
					want, tt.want = http.StatusNoContent, http.StatusNotFound
				}
				if resp.StatusCode != want {
					t.Errorf("%s is answered with %d %s, want %d", method, resp.StatusCode, body, want)
				}
			}
		})
	}
}

// TestASessionIsNotLostWhileTheBridgeShutsDown asks in between.
func TestASessionIsNotLostWhileTheBridgeShutsDown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	header := h.session(t)
	h.move(t)
	h.close()
	for method, header := range map[string]map[string]string{"POST": header, "GET": header, "POST of a new one": nil} {
		method, _, _ = strings.Cut(method, " ")
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
		if resp, _ := h.do(t, method, h.url, body, header); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s is answered with %d, want that it may be tried again", method, resp.StatusCode)
		}
	}
	if resp, _ := h.do(t, "GET", strings.Replace(h.url, "/mcp", "/sse", 1), "", nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stream of HTTP+SSE is answered with %d", resp.StatusCode)
	}
}

// TestAnEndedSessionStaysEnded ends sessions that the process has and has not.
func TestAnEndedSessionStaysEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	known, foreign := h.session(t), h.session(t)
	for name, header := range map[string]map[string]string{"known": known, "foreign": foreign} {
		if name == "foreign" {
			h.move(t)
		}
		if resp, _ := h.do(t, "DELETE", h.url, "", header); resp.StatusCode != http.StatusNoContent {
			t.Errorf("%s: DELETE is answered with %d", name, resp.StatusCode)
		}
		for _, method := range []string{"DELETE", "POST", "GET"} {
			if resp, _ := h.do(t, method, h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s after the end is answered with %d", name, method, resp.StatusCode)
			}
		}
	}
}

// TestASessionThatIsEndedWhileItIsRestoredStaysEnded does both at once.
func TestASessionThatIsEndedWhileItIsRestoredStaysEnded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var headers []map[string]string
	for range 60 {
		headers = append(headers, h.session(t))
	}
	h.move(t)
	for _, header := range headers {
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { h.do(t, "POST", h.url, pingBody, header) })
		}
		all.Go(func() {
			if resp, _ := h.do(t, "DELETE", h.url, "", header); resp.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE is answered with %d", resp.StatusCode)
			}
		})
		all.Wait()
		if resp, _ := h.do(t, "POST", h.url, pingBody, header); resp.StatusCode != http.StatusNotFound {
			t.Fatalf("a session that ended is answered with %d", resp.StatusCode)
		}
	}
}

// TestAnInitializeThatFailsLeavesNothing sends what looks like one, and what the bridge refuses for a reason of its own.
func TestAnInitializeThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.refuse.Store(true)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
		`{`,
	} {
		resp, _ := h.do(t, "POST", h.url, body, nil)
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: the answer names a session", body)
		}
	}
	wait.Until(t, "no session is left", func() bool {
		h.store.mu.Lock()
		defer h.store.mu.Unlock()
		return len(h.store.open) == 0
	})
}

// TestTheQuietestSessionMakesRoom begins more sessions than there may be.
func TestTheQuietestSessionMakesRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.Limit = 3
	hears, first, second := h.session(t), h.session(t), h.session(t)
	h.events(t, "GET", "", hears)
	check := func(when string, header map[string]string, want bool) {
		t.Helper()
		if h.store.Holds(header["Mcp-Session-Id"]) != want {
			t.Errorf("%s: the session is there: %v, want %v", when, !want, want)
		}
	}
	third := h.session(t)
	check("one that listens", hears, true)
	check("the quietest", first, false)
	check("a later one", second, true)
	check("the newest", third, true)
	if resp, body := h.do(t, "POST", h.url, pingBody, first); resp.StatusCode != http.StatusOK {
		t.Errorf("a session that made room is answered with %d %s", resp.StatusCode, body)
	}
	check("the next quietest", second, false)
	check("the restored one", first, true)

	h.store.Limit = 1
	h.store.KeepBusy(third["Mcp-Session-Id"])
	h.store.KeepBusy(first["Mcp-Session-Id"])
	h.session(t)
	check("one that only listens", hears, false)
}

// TestASessionThatIsBusyMakesNoRoom has a call in progress.
func TestASessionThatIsBusyMakesNoRoom(t *testing.T) {
	t.Parallel()
	h, began, release := newHanging(t)
	h.store.Limit = 1
	other := h.session(t)
	busy := h.session(t)
	_, events := h.events(t, "POST", toolCall("2", "hang"), busy)
	next(t, began, "call")
	for name, header := range map[string]map[string]string{"another session": other, "a new session": nil} {
		if resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, header); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s is answered with %d, want that it may be tried again", name, resp.StatusCode)
		}
	}
	release()
	for range events { // Until the answer is there.
	}
	if resp, _ := h.do(t, "POST", h.url, pingBody, other); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards another session is answered with %d", resp.StatusCode)
	}
}

// TestASessionWithACallGoesOnThoughItsPostBroke needs its room, and lets the time of idle sessions pass.
func TestASessionWithACallGoesOnThoughItsPostBroke(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	h := newHouse(t, tool{"hang", func(ctx context.Context, _ *call) (string, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}})
	h.store.Limit, h.store.Timeout = 1, 10*time.Millisecond
	header := h.session(t)
	resp, events := h.events(t, "POST", toolCall("2", "hang"), header)
	next(t, events, "beginning of the stream")
	resp.Body.Close()
	id := header["Mcp-Session-Id"]
	wait.Until(t, "the POST is over", func() bool {
		h.store.mu.Lock()
		defer h.store.mu.Unlock()
		return h.store.open[id].posts == 0
	})
	h.store.mu.Lock()
	session := h.store.open[id]
	h.store.mu.Unlock()
	h.store.expire(session)
	if resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a session that needs the room is answered with %d", resp.StatusCode)
	}
	if len(ended) > 0 || !h.store.Holds(id) {
		t.Error("the session with the call has ended")
	}
	h.do(t, "POST", h.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, header)
	if err := next(t, ended, "end of the call"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wait.Until(t, "end of the session, which is idle", func() bool { return !h.store.Holds(id) })
}

// TestWhoListensKeepsTheSession has one client listen and one do nothing.
func TestWhoListensKeepsTheSession(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 16)
	h := newHouse(t, tool{"t", func(_ context.Context, c *call) (string, error) {
		go func() {
			_ = c.session.Wait()
			ended <- struct{}{}
		}()
		return "ok", nil
	}})
	h.store.Timeout = 50 * time.Millisecond
	listening, silent := h.session(t), h.session(t)
	h.events(t, "GET", "", listening)
	for range 2 {
		h.do(t, "POST", h.url, toolCall("1", "t"), silent)
		next(t, ended, "end of the session that is silent")
	}
	if !h.store.Holds(listening["Mcp-Session-Id"]) {
		t.Error("a session ended while its client listened")
	}
	h.front.CloseClientConnections()
	wait.Until(t, "end of the session whose client is gone", func() bool { return !h.store.Holds(listening["Mcp-Session-Id"]) })
}
