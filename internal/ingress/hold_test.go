// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// startingUser is a world of alice whose bridge listens and whose pod is not
// ready yet.
func startingUser(t *testing.T, config Config) (w *world, alice string) {
	t.Helper()
	w = newWorld(t, config)
	alice = w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	return w, alice
}

// send sends n calls at once and returns where their answers come.
func (w *world) send(n int, key string) <-chan reply {
	replies := make(chan reply, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() { replies <- w.do(w.request("POST", "/u/alice/mcp", key, toolCall)) })
	}
	w.t.Cleanup(all.Wait)
	return replies
}

func (w *world) waitForHeld(n float64) {
	w.t.Helper()
	eventually(w.t, func() bool { return w.metric("requests_held") == n })
}

func TestHeldCallsGoOnWhenThePodIsReady(t *testing.T) {
	w, alice := startingUser(t, defaults())
	replies := w.send(3, alice)
	w.waitForHeld(3)
	w.setPod("alice", "alice-1", hosts[0])
	for range 3 {
		if got := <-replies; got.status != 200 {
			t.Errorf("got %d %s, want 200", got.status, got.body)
		}
	}
	w.waitForHeld(0)
	if n := w.metric("hold_duration_seconds", "released"); n != 3 {
		t.Errorf("released = %v, want 3", n)
	}
}

// A client goes on with its session while its bridge's pod is replaced.
func TestEveryKindOfCallIsHeldWhileThePodIsReplaced(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	seen := make(chan string, 8)
	w.serveBridge(hosts[1], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Mcp-Session-Id")
	})
	w.setPod("alice", "alice-1", hosts[0])
	w.removePod("alice") // As while it is being deleted.
	calls := map[string]string{"POST /u/alice/mcp s1": toolCall, "GET /u/alice/mcp s1": "", "DELETE /u/alice/mcp s1": "", "POST /u/alice/sse?sessionid=a s1": toolCall}
	replies := make(chan reply, len(calls))
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for call, body := range calls {
		all.Go(func() {
			words := strings.Fields(call)
			r := w.request(words[0], words[1], alice, body)
			r.Header.Set("Mcp-Session-Id", words[2])
			replies <- w.do(r)
		})
	}
	w.waitForHeld(float64(len(calls)))
	w.setPod("alice", "alice-2", hosts[1])
	for range calls {
		if got := <-replies; got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
		call := <-seen
		if _, sent := calls[call]; !sent {
			t.Errorf("the bridge saw %s", call)
		}
	}
}

func TestHoldingEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*world)
		status int
		code   string
	}{
		{"when the time is up", nil, 503, "bridge_starting"},
		{"when the bridge is deleted", func(w *world) { w.change(func() { w.bridges = nil }) }, 401, "unauthorized"},
		{"when the key is removed", func(w *world) { w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }) }, 401, "unauthorized"},
		{"when the bridge is suspended", func(w *world) {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
		}, 503, "bridge_suspended"},
		{"when another bridge takes the place", func(w *world) {
			w.change(func() { w.bridges = nil })
			w.addUser("alice")
			w.setPod("alice", "alice-9", hosts[0])
		}, 401, "unauthorized"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				config := defaults()
				config.Wait = 300 * time.Millisecond
				if tt.change != nil {
					config.Wait = wait.Limit
				}
				w, alice := startingUser(t, config)
				replies := w.send(1, alice)
				if tt.change != nil {
					w.waitForHeld(1)
					tt.change(w)
				}
				got := <-replies
				if got.status != tt.status || !strings.Contains(got.body, tt.code) {
					t.Errorf("got %d %s, want %d %s", got.status, got.body, tt.status, tt.code)
				}
				if retry := got.header.Get("Retry-After"); (retry == "5") != (tt.code == "bridge_starting") {
					t.Errorf("Retry-After = %q", retry)
				}
				w.waitForHeld(0)
			})
		})
	}
}

func TestOnlySoManyCallsAreHeld(t *testing.T) {
	config := defaults()
	config.MaxHeldPerUser, config.MaxHeld = 2, 3
	w, alice := startingUser(t, config)
	bob := w.addUser("bob")
	replies := w.send(2, alice)
	w.waitForHeld(2)
	got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	if got.status != 503 || !strings.Contains(got.body, "too_many_waiting") || got.header.Get("Retry-After") != "5" {
		t.Errorf("the user's third call: %d %s", got.status, got.body)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := w.client.Do(w.request("POST", "/u/bob/mcp", bob, toolCall).WithContext(ctx)); err == nil {
			res.Body.Close()
		}
	}()
	w.waitForHeld(3)
	carol := w.addUser("carol")
	if got := w.do(w.request("POST", "/u/carol/mcp", carol, toolCall)); got.status != 503 || !strings.Contains(got.body, "too_many_waiting") {
		t.Errorf("the fourth call over all users: %d %s", got.status, got.body)
	}
	leave()
	<-gone
	w.waitForHeld(2)
	w.setPod("alice", "alice-1", hosts[0])
	for range 2 {
		if got := <-replies; got.status != 200 {
			t.Errorf("got %d, want 200", got.status)
		}
	}
	if n := w.server.router.proxy.Activator.Waiting(); n != 0 {
		t.Errorf("%d users are still counted", n)
	}
}

// TestABridgeThatCannotStartIsSaidToTheClient has a pod that is refused, for which no call waits, and
// one that may find room while a call waits.
func TestABridgeThatCannotStartIsSaidToTheClient(t *testing.T) {
	const held = 10 * time.Second
	for reason, want := range map[string]string{
		v1alpha1.ReasonPodRefused:       `{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"The bridge cannot start: the cluster refuses to run it. Ask an administrator.","data":{"code":"bridge_blocked","retryAfterSeconds":60}}}`,
		v1alpha1.ReasonPodUnschedulable: `{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"The bridge cannot start now: the cluster has no room for it. Ask an administrator.","data":{"code":"bridge_starting","retryAfterSeconds":5}}}`,
	} {
		inBubble(t, func(t *testing.T) {
			config := defaults()
			config.Wait = held
			w, alice := startingUser(t, config)
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
				b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: reason, Message: "exceeded quota"}}
			})
			began := time.Now()
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != http.StatusServiceUnavailable || got.body != want {
				t.Errorf("%s: got %d %s", reason, got.status, got.body)
			}
			if waited := time.Since(began) >= held; waited != (reason != v1alpha1.ReasonPodRefused) {
				t.Errorf("%s: the call waited: %v", reason, waited)
			}
			if got := w.do(w.request("GET", "/u/alice/health", alice, "")); !strings.Contains(got.body, `"status":"blocked"`) {
				t.Errorf("%s: the health is %s", reason, got.body)
			}
		})
	}
}

func TestASuspendedBridgeIsRefusedAtOnce(t *testing.T) {
	w, alice := startingUser(t, defaults())
	w.setPod("alice", "alice-1", hosts[0])
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"The bridge is suspended.","data":{"code":"bridge_suspended"}}}`
	if got.status != http.StatusServiceUnavailable || got.body != want || got.header.Get("Retry-After") != "" {
		t.Errorf("got %d %s, Retry-After %q", got.status, got.body, got.header.Get("Retry-After"))
	}
}
