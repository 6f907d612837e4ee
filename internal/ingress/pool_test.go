// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route"
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

func (p *pool) idleLines() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lines := range p.idle {
		n += len(lines)
	}
	if n != p.count {
		return -1
	}
	return n
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
			_, _ = io.WriteString(rw, `"`+strings.Repeat("a", 3*passBuffer)+`"`)
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

func TestAPoolKeepsToItsBounds(t *testing.T) {
	p := newPool(nil)
	defer p.close()
	to := destination{bridge: "b", pod: "p", ip: "i"}
	for i := range idlePerBridge + 1 {
		if got, want := p.put(&line{pool: p, to: to}), i < idlePerBridge; got != want {
			t.Fatalf("connection %d of a bridge is kept: %v", i, got)
		}
	}
	for i := range idleInAll - idlePerBridge {
		if !p.put(&line{pool: p, to: destination{ip: fmt.Sprint(i)}}) {
			t.Fatalf("connection %d of all is not kept", i)
		}
	}
	if p.put(&line{pool: p, to: destination{ip: "another"}}) {
		t.Error("one more than allowed in all is kept")
	}
	if n := p.idleLines(); n != idleInAll {
		t.Errorf("%d are idle", n)
	}
	if p.pop(to) == nil || p.pop(destination{bridge: "b", pod: "other", ip: "i"}) != nil {
		t.Error("a connection leads to another pod than it was asked for")
	}
	p.mu.Lock()
	clear(p.idle) // None of them is a connection that could be closed.
	p.count = 0
	p.mu.Unlock()
}

func TestIdleConnectionsEnd(t *testing.T) {
	var seen dials
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		seen.saw(r)
		servedBy("alice")(rw, r)
	})
	w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	p := w.ways.pool
	if old := p.expired(time.Now().Add(idleTimeout - time.Second)); len(old) != 0 || p.idleLines() != 1 {
		t.Fatalf("%d have expired early, %d are idle", len(old), p.idleLines())
	}
	// One that is too old and was not swept is not used either.
	to := destination{bridge: "uid-alice", pod: "uid-alice-1", ip: hosts[0]}
	if l := p.take(to, time.Now().Add(idleTimeout)); l != nil {
		t.Error("a connection is used after its time")
	}
	w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	old := p.expired(time.Now().Add(idleTimeout))
	if len(old) != 1 || p.idleLines() != 0 {
		t.Fatalf("%d have expired, %d are idle", len(old), p.idleLines())
	}
	old[0].conn.Close()
	w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	if n := seen.count(); n != 3 {
		t.Errorf("the bridge saw %d connections, want 3", n)
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

// TestAPoolUnderLoad has calls that end, break off and are left, at once.
func TestAPoolUnderLoad(t *testing.T) {
	w, _ := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch len(body) % 4 {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			<-r.Context().Done()
		default:
			_, _ = rw.Write(body)
		}
	})
	to := route.Backend{BridgeUID: "uid-alice", PodUID: "uid-alice-1", PodIP: hosts[0]}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 20 {
				body := strings.Repeat(string(rune('a'+i%26)), 4*i+j)
				ctx, leave := context.WithCancel(t.Context())
				if len(body)%4 == 1 {
					time.AfterFunc(time.Millisecond, leave)
				}
				x := &exchange{method: "POST", path: "/u/alice/mcp", host: "h"}
				res, err := w.ways.pool.send(ctx, to, h1.Request{Head: x, Length: true, Body: []byte(body)})
				if err == nil {
					got, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil || string(got) != body {
						t.Errorf("sent %q, got %q, %v", body, got, err)
					}
				}
				if (err == nil) != (len(body)%4 > 1) {
					t.Errorf("%d bytes: error %v", len(body), err)
				}
				leave()
			}
		})
	}
	wg.Wait()
	if n := w.ways.pool.idleLines(); n < 1 || n > 32 {
		t.Errorf("%d connections are idle, or their count is wrong", n)
	}
}

func TestAConnectionProvesTheBridgeItIsKeptFor(t *testing.T) {
	w := newWorld(t, defaults())
	w.serveBridge(hosts[0], "uid-bob", servedBy("bob"))
	_, _, err := newDialer(w, w.port).dial(t.Context(), route.Backend{BridgeUID: "uid-alice", PodUID: "p", PodIP: hosts[0]})
	if err == nil || !strings.Contains(err.Error(), pki.BridgeURI("uid-alice").String()) {
		t.Errorf("error = %v", err)
	}
}
