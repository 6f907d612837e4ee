// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

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

func TestAPoolKeepsToItsBounds(t *testing.T) {
	p := newPool(nil)
	defer p.close()
	to := Pod{bridge: "b", pod: "p", ip: "i"}
	for i := range IdlePerBridge + 1 {
		if got, want := p.put(&pooledConn{pool: p, to: to}), i < IdlePerBridge; got != want {
			t.Fatalf("connection %d of a bridge is kept: %v", i, got)
		}
	}
	for i := range idleInAll - IdlePerBridge {
		if !p.put(&pooledConn{pool: p, to: Pod{ip: fmt.Sprint(i)}}) {
			t.Fatalf("connection %d of all is not kept", i)
		}
	}
	if p.put(&pooledConn{pool: p, to: Pod{ip: "another"}}) {
		t.Error("one more than allowed in all is kept")
	}
	if n := p.idleLines(); n != idleInAll {
		t.Errorf("%d are idle", n)
	}
	if p.pop(to) == nil || p.pop(Pod{bridge: "b", pod: "other", ip: "i"}) != nil {
		t.Error("a connection leads to another pod than it was asked for")
	}
	p.mu.Lock()
	clear(p.idle) // None of them is a connection that could be closed.
	p.count = 0
	p.mu.Unlock()
}

func TestIdleConnectionsEnd(t *testing.T) {
	var seen dials
	b := serve(t, "uid-alice", func(_ http.ResponseWriter, r *http.Request) { seen.saw(r) })
	b.call(t)
	p := b.client.pool
	if old := p.expired(time.Now().Add(idleTimeout - time.Second)); len(old) != 0 || p.idleLines() != 1 {
		t.Fatalf("%d have expired early, %d are idle", len(old), p.idleLines())
	}
	// One that is too old and was not swept is not used either.
	to := PodOf(b.backend)
	if l := p.take(to, time.Now().Add(idleTimeout)); l != nil {
		t.Error("a connection is used after its time")
	}
	b.call(t)
	old := p.expired(time.Now().Add(idleTimeout))
	if len(old) != 1 || p.idleLines() != 0 {
		t.Fatalf("%d have expired, %d are idle", len(old), p.idleLines())
	}
	old[0].conn.Close()
	b.call(t)
	if n := seen.count(); n != 3 {
		t.Errorf("the bridge saw %d connections, want 3", n)
	}
}

// TestAPoolUnderLoad has calls that end, break off and are left, at once.
func TestAPoolUnderLoad(t *testing.T) {
	b := serve(t, "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
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
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 20 {
				body := strings.Repeat(string(rune('a'+i%26)), 4*i+j)
				ctx, leave := context.WithCancel(t.Context())
				if len(body)%4 == 1 {
					time.AfterFunc(time.Millisecond, leave)
				}
				x := &Request{Method: "POST", Path: "/u/alice/mcp", Host: "h"}
				res, err := b.client.Send(ctx, b.backend, h1.Request{Head: x, Length: true, Body: []byte(body)})
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
	if n := b.client.pool.idleLines(); n < 1 || n > 32 {
		t.Errorf("%d connections are idle, or their count is wrong", n)
	}
}

func TestAConnectionProvesTheBridgeItIsKeptFor(t *testing.T) {
	b := serve(t, "uid-bob", func(http.ResponseWriter, *http.Request) {})
	b.call(t) // Leaves a connection with bob's bridge at the address that alice's bridge gets.
	to := b.backend
	to.BridgeUID = "uid-alice"
	_, err := b.client.Send(t.Context(), to, h1.Request{Head: &Request{Method: "GET", Path: "/", Host: "h"}})
	if err == nil || !strings.Contains(err.Error(), pki.BridgeURI("uid-alice").String()) {
		t.Errorf("error = %v", err)
	}
}

// TestADeliveredRequestIsNotSentAgain has a bridge that gives no answer on a connection from the pool.
func TestADeliveredRequestIsNotSentAgain(t *testing.T) {
	var calls atomic.Int32
	b := serve(t, "uid-alice", func(http.ResponseWriter, *http.Request) {
		if calls.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	b.call(t)
	_, err := b.client.Send(t.Context(), b.backend, h1.Request{Head: &Request{Method: "POST", Path: "/", Host: "h"}, Length: true})
	if err == nil || calls.Load() != 2 {
		t.Errorf("error %v after %d requests, want an error after 2", err, calls.Load())
	}
}
