// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// impatient gives up on bridges quickly.
func impatient() Config {
	config := defaults()
	config.Wait = 200 * time.Millisecond
	return config
}

func TestAWrongPodFailsInTheHandshake(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// The table sends alice to bob's address, as after an address was reused.
		w := newWorld(t, impatient())
		alice := w.addUser("alice")
		w.addUser("bob")
		var reached atomic.Int64
		w.serveBridge(hosts[1], "uid-bob", func(rw http.ResponseWriter, r *http.Request) { reached.Add(1) })
		w.setPod("alice", "alice-1", hosts[1])
		got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
		want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"The bridge could not be reached; the call did not run.","data":{"code":"bridge_unreachable","retryAfterSeconds":5}}}`
		if got.status != http.StatusServiceUnavailable || got.body != want || got.header.Get("Retry-After") != "5" {
			t.Errorf("got %d %s, want 503 %s", got.status, got.body, want)
		}
		if reached.Load() != 0 {
			t.Error("bob's bridge got alice's request")
		}
		if n := w.metric("undelivered_total", bridgeclient.ReasonHandshake); n < 1 {
			t.Errorf("handshakes that failed = %v, want at least one", n)
		}
	})
}

// TestAClientThatLeavesDuringTheHandshakeDropsNoRoute has one client leave while
// the pod is slow to prove itself. The user's other calls find it.
func TestAClientThatLeavesDuringTheHandshakeDropsNoRoute(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	w.setPod("alice", "alice-1", hosts[0])
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, toolCall).WithContext(ctx))
		if err == nil {
			res.Body.Close()
		}
		left <- err
	}()
	conn, err := w.listeners[hosts[0]].Accept() // The handshake goes no further.
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client that left: %v", err)
	}
	eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
	backend, ok := w.routes.Current().Lookup("alice")
	if !ok || w.server.router.proxy.Activator.LeavesAlone(backend) {
		t.Errorf("alice's route is out of use: %+v", backend)
	}
	if n := w.metric("undelivered_total", bridgeclient.ReasonHandshake); n != 0 {
		t.Errorf("%v attempts failed", n)
	}
}

func TestAReusedAddressServesItsNewOwnerOnly(t *testing.T) {
	// Alice has live pooled connections when her pod's address goes to bob.
	w := newWorld(t, impatient())
	alice, bob := w.addUser("alice"), w.addUser("bob")
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	w.setPod("alice", "alice-1", hosts[0])
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); !strings.Contains(got.body, `"alice"`) {
		t.Fatalf("alice got %s", got.body)
	}
	w.stopBridge(hosts[0])
	w.listenAgain(hosts[0])
	w.serveBridge(hosts[0], "uid-bob", servedBy("bob"))
	w.setPod("bob", "bob-1", hosts[0])
	// A GET: the transport may not have noticed yet that the pooled connection
	// died, and a POST could then end as bridge_failed.
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != http.StatusServiceUnavailable {
		t.Errorf("alice on her old address: %d %s, want 503", got.status, got.body)
	}
	wait.Until(t, "bob's call is delivered", func() bool { // A busy machine may be too slow for the time limits of the first attempts.
		got := w.do(w.request("POST", "/u/bob/mcp", bob, toolCall))
		if got.status != http.StatusServiceUnavailable && !strings.Contains(got.body, `"bob"`) {
			t.Errorf("bob got %d %s", got.status, got.body)
		}
		return got.status != http.StatusServiceUnavailable
	})
	w.serveBridge(hosts[2], "uid-alice", servedBy("alice"))
	w.setPod("alice", "alice-2", hosts[2])
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); !strings.Contains(got.body, `"alice"`) {
		t.Errorf("alice on her new address: %d %s", got.status, got.body)
	}
}

func TestAnUndeliveredCallGoesToTheNextPod(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, defaults())
		alice := w.addUser("alice")
		// Nothing listens on the first address; the second serves.
		_ = w.listeners[hosts[0]].Close()
		var calls atomic.Int64
		w.serveBridge(hosts[1], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			body, _ := io.ReadAll(r.Body)
			_, _ = rw.Write(body)
		})
		w.setPod("alice", "alice-1", hosts[0])
		done := make(chan reply, 1)
		go func() { done <- w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)) }()
		eventually(t, func() bool { return w.metric("requests_held") == 1 })
		w.setPod("alice", "alice-2", hosts[1])
		if got := <-done; got.status != 200 || got.body != toolCall {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if calls.Load() != 1 {
			t.Errorf("the call ran %d times", calls.Load())
		}
		if n := w.metric("retries_total"); n != 1 {
			t.Errorf("retries = %v, want 1", n)
		}
	})
}

func TestARestartedContainerIsFoundAgain(t *testing.T) {
	// The pod keeps its UID and address, and the table notices nothing.
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 200 {
		t.Fatalf("status = %d", got.status)
	}
	w.stopBridge(hosts[0])
	w.ways.CloseIdle()
	done := make(chan reply, 1)
	go func() { done <- w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)) }()
	eventually(t, func() bool { return w.metric("requests_held") == 1 })
	w.listenAgain(hosts[0])
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	if got := <-done; got.status != 200 {
		t.Errorf("after the restart: %d %s", got.status, got.body)
	}
}

func TestADeliveredCallIsNotSentAgain(t *testing.T) {
	for name, answer := range map[string]string{
		"the connection closes":         "",
		"the answer's header breaks":    "HTTP/1.1 200 OK\r\nContent-",
		"the answer is not HTTP":        "hello\r\n\r\n",
		"the bridge claims a time-out":  "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"the bridge refuses to say why": "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
				// The first call leaves a pooled connection, on which the
				// transport would be readier to try again.
				if calls.Add(1) > 1 {
					wire(answer)(rw, r)
				}
			})
			w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
			got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
			if got.status < 400 {
				t.Errorf("status = %d, want an error", got.status)
			}
			if calls.Load() != 2 {
				t.Errorf("two calls ran %d times", calls.Load())
			}
		})
	}
}

func TestABridgeWithoutOurAuthorityIsNotServed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, impatient())
		alice := w.addUser("alice")
		authority, err := pki.NewAuthority([32]byte{9})
		if err != nil {
			t.Fatal(err)
		}
		other := &world{t: t, authority: authority}
		server := &http.Server{Handler: servedBy("impostor"), ReadHeaderTimeout: wait.Limit, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		l := tls.NewListener(w.listeners[hosts[0]], &tls.Config{Certificates: []tls.Certificate{pkitest.Certificate(t, other.authority, pki.BridgeSubject("uid-alice"))}})
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close(); <-done })
		w.setPod("alice", "alice-1", hosts[0])
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 503 || strings.Contains(got.body, "impostor") {
			t.Errorf("got %d %s, want 503", got.status, got.body)
		}
	})
}

// eventually waits until condition holds.
func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	wait.Until(t, "what was waited for", condition)
}
