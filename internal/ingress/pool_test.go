// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
)

// dials counts the connections that a bridge has seen.
type dials struct {
	mu   sync.Mutex
	from []string
}

func (d *dials) saw(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.from, r.RemoteAddr) {
		d.from = append(d.from, r.RemoteAddr)
	}
}

func (d *dials) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.from)
}

// TestConnectionsAreUsedAgain calls with answers of each kind, of which all end
// where the next one can begin.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var seen dials
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		switch r.Header.Get("Mcp-Name") {
		case "events":
			rw.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(rw, "data: 1\n\n")
			_ = http.NewResponseController(rw).Flush()
			fmt.Fprint(rw, "data: 2\n\n")
		case "none":
			rw.WriteHeader(http.StatusAccepted)
		case "long":
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `"`+strings.Repeat("a", 3*inflight.BufferSize)+`"`)
		default:
			tells(false)(rw, r)
		}
	})
	for range 3 {
		for _, kind := range []string{"events", "none", "long", "trailers"} {
			r := w.request("POST", "/u/alice/mcp", alice, toolCall)
			r.Header.Set("Mcp-Name", kind)
			if got := w.do(r); got.status >= 300 {
				t.Fatalf("%s: %d %s", kind, got.status, got.body)
			}
		}
	}
	if n := seen.count(); n != 1 {
		t.Errorf("the bridge saw %d connections, want 1", n)
	}
}

// TestACallOnAConnectionThatDiedIsSentOnAnother has a bridge close all of its
// idle connections, which nobody has noticed when the next call comes.
func TestACallOnAConnectionThatDiedIsSentOnAnother(t *testing.T) {
	var calls atomic.Int64
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		servedBy("alice")(rw, r)
	})
	for range 5 {
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		w.stopBridge(hosts[0])
		w.listenAgain(hosts[0])
		w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			servedBy("alice")(rw, r)
		})
	}
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 200 || calls.Load() != 6 {
		t.Errorf("%d %s after %d calls", got.status, got.body, calls.Load())
	}
}

// TestAJSONAnswerThatBreaksOffIsAnError has nothing been sent when it does.
func TestAJSONAnswerThatBreaksOffIsAnError(t *testing.T) {
	w, alice := oneUser(t, defaults(), wire("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\""))
	got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	if got.status != http.StatusBadGateway || !strings.Contains(got.body, `"bridge_failed"`) {
		t.Errorf("%d %s, want 502 bridge_failed", got.status, got.body)
	}
}
