// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
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
	}
}

// TestACandidateMayBecomeUnusableWhileCallsWait has the pod say that it is ready
// right after that.
func TestACandidateMayBecomeUnusableWhileCallsWait(t *testing.T) {
	for name, tt := range unusable {
		t.Run(name, func(t *testing.T) {
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
	}
}

func TestACandidateThatIsAnotherBridgesGetsNothing(t *testing.T) {
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
}

func TestACandidateThatNeverGetsReadyIsNotCalled(t *testing.T) {
	config := defaults()
	config.Wait = 3 * time.Second
	w, alice, pod := candidateWorld(t, config)
	if got := w.call(alice); got.status != 503 || !strings.Contains(got.body, "bridge_starting") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if n := pod.asked.Load(); pod.called.Load() > 0 || n < 1 || n > int64(config.Wait/probePause)+1 {
		t.Errorf("%d calls, asked %d times", pod.called.Load(), n)
	}
}

func TestTheCandidateThatComesLaterIsUsed(t *testing.T) {
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
	w.server.config.Wait = 200 * time.Millisecond
	w.setCandidate("alice", "alice-3", hosts[0])
	if got := w.call(alice); got.status != 503 || first.called.Load() != 0 {
		t.Errorf("got %d %s; the pod that is not ready got %d calls", got.status, got.body, first.called.Load())
	}
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
	w, alice, pod := candidateWorld(t, defaults())
	pod.ready.Store(1)
	if got := w.call(alice); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	w.stopBridge(hosts[0])
	w.ways.pool.closeIdle()
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
}

func (w *world) seekers() int {
	c := w.server.hold.candidates
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seekers)
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

// startingTable is one of n users whose pods are not ready.
func startingTable(t *testing.T, n int) *route.Table {
	t.Helper()
	backends := make([]route.Backend, n)
	for i := range backends {
		name := fmt.Sprintf("user-%d", i)
		backends[i] = route.Backend{
			User: v1alpha1.UserID(name), BridgeUID: types.UID(name), State: route.Starting,
			Candidate: route.Candidate{PodName: name, PodUID: types.UID(name), PodIP: "10.0.0.1"},
		}
	}
	table, err := route.Restore(backends, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func candidatesOf(t *testing.T, table *route.Table, ready func(context.Context, route.Backend) error) (*candidates, *fakeRoutes) {
	t.Helper()
	routes := newFakeRoutes()
	routes.set(table)
	c, err := newCandidates(routes, &dropped{}, ready, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return c, routes
}

// questions are what a pod was asked that is never ready.
type questions struct {
	mu    sync.Mutex
	times []time.Time
	here  int
	twice bool
}

func (q *questions) ask(ctx context.Context, _ route.Backend) error {
	q.mu.Lock()
	q.times = append(q.times, time.Now())
	q.here++
	q.twice = q.twice || q.here > 1
	q.mu.Unlock()
	<-time.After(time.Millisecond)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.here--
	return errors.New("not yet")
}

func (q *questions) count() int {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.times)
}

func TestOnlyOneAsksAndLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked questions
		began, table := time.Now(), startingTable(t, 1)
		c, routes := candidatesOf(t, table, asked.ask)
		for range 10 {
			c.join(t.Context(), "user-0")
		}
		// Other users' changes do not have it be asked more often.
		for time.Since(began) < 30*time.Second {
			time.Sleep(time.Millisecond)
			routes.set(table)
		}
		for range 9 {
			c.leave("user-0")
		}
		n := asked.count()
		time.Sleep(5 * time.Second)
		after := asked.count()
		if n < 100 || n > 200 || after < n+8 || after > n+11 || asked.twice {
			t.Errorf("asked %d and %d times, two at once: %v", n, after, asked.twice)
		}
		if first, second := asked.times[0].Sub(began), asked.times[1].Sub(began); first != 0 || second != probePause+time.Millisecond {
			t.Errorf("asked after %s and %s", first, second)
		}
		c.leave("user-0")
		n = asked.count()
		time.Sleep(time.Minute)
		if more := asked.count() - n; more != 0 || len(c.seekers) != 0 {
			t.Errorf("asked %d times when nobody waited", more)
		}
	})
}

func TestSoManyAreAskedAtOnceAndEachHasItsTurn(t *testing.T) {
	const users = 3 * probesAtOnce
	synctest.Test(t, func(t *testing.T) {
		var here, most, ended atomic.Int64
		c, _ := candidatesOf(t, startingTable(t, users), func(ctx context.Context, b route.Backend) error {
			most.Store(max(most.Load(), here.Add(1)))
			defer here.Add(-1)
			<-ctx.Done() // An address at which nothing answers.
			ended.Add(1)
			return ctx.Err()
		})
		for i := range users {
			c.join(t.Context(), v1alpha1.UserID(fmt.Sprintf("user-%d", i)))
		}
		time.Sleep(users/probesAtOnce*probeTimeout + time.Millisecond)
		synctest.Wait()
		if most.Load() != probesAtOnce || ended.Load() != users {
			t.Errorf("%d were asked at once, %d in all", most.Load(), ended.Load())
		}
		for i := range users {
			c.leave(v1alpha1.UserID(fmt.Sprintf("user-%d", i)))
		}
	})
}

func TestWhatAPodSaidHoldsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := startingTable(t, 1)
		c, _ := candidatesOf(t, table, func(context.Context, route.Backend) error { return nil })
		b, _ := table.Lookup("user-0")
		resolves := func() bool {
			to, ok := c.resolve(b, time.Now())
			return ok && to == b.At(b.Candidate)
		}
		if resolves() {
			t.Error("it is used before it was asked")
		}
		c.join(t.Context(), "user-0")
		synctest.Wait()
		c.leave("user-0")
		if !resolves() {
			t.Error("it is not used")
		}
		moved := b
		moved.Candidate.PodIP = "10.0.0.2"
		if _, ok := c.resolve(moved, time.Now()); ok {
			t.Error("it is used at another address than the one that it was asked at")
		}
		c.dropped.add(b.At(b.Candidate), time.Now())
		if resolves() {
			t.Error("it is used though it was not reached")
		}
		time.Sleep(dropFor)
		if !resolves() {
			t.Error("it is not used again")
		}
		time.Sleep(provenFor)
		if resolves() {
			t.Error("its word holds for ever")
		}
		for i := range 2 * maxMarks {
			b.Candidate.PodUID = types.UID(fmt.Sprint(i))
			c.prove("user-0", b.At(b.Candidate), time.Now())
			time.Sleep(provenFor / 100)
		}
		if n := len(c.proven.until); n > maxMarks {
			t.Errorf("%d proofs are kept", n)
		}
	})
}
