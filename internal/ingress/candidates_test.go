// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/activator"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// starter is a bridge that says itself whether it is ready.
type starter struct {
	ready, asked, called atomic.Int64
	// atOnce is the most questions that were there at a time.
	here, atOnce atomic.Int64
}

func (s *starter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/readyz" {
		s.called.Add(1)
		servedBy("alice")(rw, r)
		return
	}
	s.asked.Add(1)
	s.atOnce.Store(max(s.atOnce.Load(), s.here.Add(1)))
	defer s.here.Add(-1)
	if s.ready.Load() == 0 {
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

// candidateWorld is a world of alice, whose pod listens and is not ready, neither
// by its own word nor by the API server's.
func candidateWorld(t *testing.T, config Config) (w *world, alice string, pod *starter) {
	t.Helper()
	w, pod = newWorld(t, config), &starter{}
	alice = w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", pod.ServeHTTP)
	w.setCandidate("alice", "alice-1", hosts[0])
	return w, alice, pod
}

func (w *world) call(key string) reply {
	w.t.Helper()
	return w.do(w.request("POST", "/u/alice/mcp", key, toolCall))
}

func TestHeldCallsGoOnWhenThePodSaysThatItIsReady(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const calls = 20
		config := defaults()
		config.MaxHeldPerUser, config.MaxHeld = calls, calls
		w, alice, pod := candidateWorld(t, config)
		replies := w.send(calls, alice)
		w.waitForHeld(calls)
		eventually(t, func() bool { return pod.asked.Load() > 3 })
		if pod.called.Load() > 0 {
			t.Fatal("a call went to a pod that is not ready")
		}
		pod.ready.Store(1)
		for range calls {
			if got := <-replies; got.status != 200 {
				t.Errorf("got %d %s", got.status, got.body)
			}
		}
		if n := pod.atOnce.Load(); n != 1 {
			t.Errorf("it was asked %d times at once by %d calls that waited", n, calls)
		}
		if ready := w.metric("candidate_probes_total", "ready"); ready != 1 {
			t.Errorf("it said %v times that it is ready, want once", ready)
		}
		// Nobody asks again, and new calls go there although the table does not know.
		asked := pod.asked.Load()
		if got := w.call(alice); got.status != 200 || pod.asked.Load() != asked {
			t.Errorf("the next call: %d %s, asked %d times more", got.status, got.body, pod.asked.Load()-asked)
		}
		w.setPod("alice", "alice-1", hosts[0])
		if got := w.call(alice); got.status != 200 || pod.called.Load() != calls+2 {
			t.Errorf("when the table knows: %d %s, %d calls in all", got.status, got.body, pod.called.Load())
		}
	})
}

func TestAWakeEndsWhenThePodSaysThatItIsReady(t *testing.T) {
	w, alice, pod := candidateWorld(t, defaults())
	w.sleep("alice")
	w.onWake(func(context.Context, route.Backend) error {
		w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.IdleSince = nil })
		w.setCandidate("alice", "alice-2", hosts[0])
		pod.ready.Store(1)
		return nil
	})
	if got := w.call(alice); got.status != 200 || len(w.activity.wakes()) != 1 {
		t.Errorf("got %d %s, woken %v", got.status, got.body, w.activity.wakes())
	}
}

// unusable are the changes after which a pod that says that it is ready may not be
// called, and what callers are told.
var unusable = map[string]struct {
	change func(*v1alpha1.HostedBridge)
	code   string
}{
	"its bridge is suspended": {func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended }, "bridge_suspended"},
	"its bridge is deleted":   {func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, "unauthorized"},
	"its bridge sleeps": {func(b *v1alpha1.HostedBridge) {
		b.Spec.DesiredState, b.Status.IdleSince = v1alpha1.StateOnDemand, &metav1.Time{Time: time.Unix(60, 0)}
	}, "bridge_asleep"},
	"the key is revoked": {func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }, "unauthorized"},
}

func TestACandidateThatMayNotBeUsedIsNotAsked(t *testing.T) {
	for name, tt := range unusable {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w, alice, pod := candidateWorld(t, impatient())
				pod.ready.Store(1)
				w.changeBridge("alice", tt.change)
				if got := w.call(alice); !strings.Contains(got.body, tt.code) {
					t.Errorf("got %d %s, want %s", got.status, got.body, tt.code)
				}
				if pod.asked.Load()+pod.called.Load() > 0 {
					t.Errorf("the pod got %d calls, and was asked %d times", pod.called.Load(), pod.asked.Load())
				}
			})
		})
	}
}

// TestACandidateMayBecomeUnusableWhileCallsWait has the pod say that it is ready
// right after that.
func TestACandidateMayBecomeUnusableWhileCallsWait(t *testing.T) {
	for name, tt := range unusable {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				config := defaults()
				config.Wait = time.Second
				w, alice, pod := candidateWorld(t, config)
				replies := w.send(1, alice)
				eventually(t, func() bool { return pod.asked.Load() > 0 })
				w.changeBridge("alice", tt.change)
				pod.ready.Store(1)
				if got := <-replies; !strings.Contains(got.body, tt.code) || pod.called.Load() > 0 {
					t.Errorf("got %d %s, want %s; the pod got %d calls", got.status, got.body, tt.code, pod.called.Load())
				}
			})
		})
	}
}

func TestACandidateThatIsAnotherBridgesGetsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.Wait = 2 * time.Second
		w, pod := newWorld(t, config), &starter{}
		alice := w.addUser("alice")
		pod.ready.Store(1)
		w.serveBridge(hosts[1], "uid-bob", pod.ServeHTTP)
		w.setCandidate("alice", "alice-1", hosts[1])
		if got := w.call(alice); got.status != 503 || !strings.Contains(got.body, "bridge_starting") {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if pod.asked.Load()+pod.called.Load() > 0 {
			t.Error("another's bridge got a request")
		}
		if ready, not := w.metric("candidate_probes_total", "ready"), w.metric("candidate_probes_total", "not_ready"); ready != 0 || not < 1 {
			t.Errorf("%v probes found it ready, %v not", ready, not)
		}
	})
}

func TestACandidateThatNeverGetsReadyIsNotCalled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.Wait = 3 * time.Second
		w, alice, pod := candidateWorld(t, config)
		if got := w.call(alice); got.status != 503 || !strings.Contains(got.body, "bridge_starting") {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if n := pod.asked.Load(); pod.called.Load() > 0 || n < 1 || n > int64(config.Wait/activator.ProbePause)+1 {
			t.Errorf("%d calls, asked %d times", pod.called.Load(), n)
		}
	})
}

func TestTheCandidateThatComesLaterIsUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, first := candidateWorld(t, defaults())
		second := &starter{}
		second.ready.Store(1)
		w.serveBridge(hosts[1], "uid-alice", second.ServeHTTP)
		replies := w.send(1, alice)
		eventually(t, func() bool { return first.asked.Load() > 0 })
		w.setCandidate("alice", "alice-2", hosts[1])
		if got := <-replies; got.status != 200 || first.called.Load() != 0 || second.called.Load() != 1 {
			t.Errorf("got %d %s; the first pod got %d calls, the second %d", got.status, got.body, first.called.Load(), second.called.Load())
		}
		// What the second said holds for it alone.
		w.server.router.proxy.Wait = 200 * time.Millisecond
		w.setCandidate("alice", "alice-3", hosts[0])
		if got := w.call(alice); got.status != 503 || first.called.Load() != 0 {
			t.Errorf("got %d %s; the pod that is not ready got %d calls", got.status, got.body, first.called.Load())
		}
	})
}

func TestTheTablesWordEndsTheWaitForACandidate(t *testing.T) {
	w, alice, pod := candidateWorld(t, defaults())
	replies := w.send(1, alice)
	eventually(t, func() bool { return pod.asked.Load() > 0 })
	w.setPod("alice", "alice-1", hosts[0])
	if got := <-replies; got.status != 200 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	eventually(t, func() bool { return w.seekers() == 0 })
}

// TestACandidateThatGoesAwayIsAskedAgain has a pod that was ready die before the
// table says anything of it.
func TestACandidateThatGoesAwayIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, pod := candidateWorld(t, defaults())
		pod.ready.Store(1)
		if got := w.call(alice); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		w.stopBridge(hosts[0])
		w.ways.CloseIdle()
		replies := w.send(1, alice)
		w.waitForHeld(1)
		asked := pod.asked.Load()
		w.listenAgain(hosts[0])
		w.serveBridge(hosts[0], "uid-alice", pod.ServeHTTP)
		if got := <-replies; got.status != 200 || pod.asked.Load() != asked+1 {
			t.Errorf("got %d %s, asked %d times", got.status, got.body, pod.asked.Load()-asked)
		}
		if n := w.metric("retries_total"); n != 1 {
			t.Errorf("%v retries, want 1", n)
		}
	})
}

func (w *world) seekers() int {
	return w.server.router.proxy.Activator.Probed()
}

func TestWhileNobodyWaitsNobodyIsAsked(t *testing.T) {
	w, alice, pod := candidateWorld(t, defaults())
	w.do(w.request("GET", "/u/alice/health", alice, ""))
	w.setCandidate("alice", "alice-2", hosts[0])
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	if pod.asked.Load() != 0 || w.seekers() != 0 {
		t.Fatalf("asked %d times", pod.asked.Load())
	}
	go func() {
		defer close(gone)
		if res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, toolCall).WithContext(ctx)); err == nil {
			res.Body.Close()
		}
	}()
	eventually(t, func() bool { return pod.asked.Load() > 0 })
	leave()
	<-gone
	eventually(t, func() bool { return w.seekers() == 0 })
}
