// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// ownStore is the installation's own store, which can go away and come back.
type ownStore struct {
	*httptest.Server
	handler atomic.Pointer[http.ServeMux]
}

func startOwnStore(t testing.TB) *ownStore {
	t.Helper()
	s := &ownStore{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mux := s.handler.Load(); mux != nil {
			mux.ServeHTTP(w, r)
			return
		}
		http.Error(w, "away", http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *ownStore) use(c *Counter) {
	mux := http.NewServeMux()
	c.Register(mux)
	s.handler.Store(mux)
}

func newCounter(clock *clocktest.Clock) *Counter {
	return OpenCounter("", clock, slog.New(slog.DiscardHandler))
}

// remoteReplica returns a replica of two. The test beats for it.
func remoteReplica(t *testing.T, own *ownStore, clock *clocktest.Clock) *Store {
	t.Helper()
	client := must.Value(jsoncall.New(own.URL, nil))(t)
	t.Cleanup(client.Close)
	s, err := New(Options{Replicas: 2, Remote: client, Clock: clock, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// passed returns how many of so many calls pass, a millisecond after another:
// of two answers of the same time the first one counts.
func passed(t *testing.T, s *Store, bridge types.UID, calls int) (n int) {
	t.Helper()
	for range calls {
		s.clock.(*clocktest.Clock).Advance(time.Millisecond)
		if s.Take(t.Context(), bridge, tier, quota.Want{Requests: 1}).Allowed() {
			n++
		}
	}
	return n
}

func TestReplicasCountTogetherInTheInstallationsOwnStore(t *testing.T) {
	clock, own := clocktest.New(8), startOwnStore(t)
	own.use(newCounter(clock))
	a, b := remoteReplica(t, own, clock), remoteReplica(t, own, clock)
	a.beat(t.Context())
	b.beat(t.Context())
	for i := range 45 {
		for _, s := range []*Store{a, b} {
			v := s.Take(t.Context(), "alice", tier, quota.Want{Requests: 1})
			if !v.Allowed() {
				t.Fatalf("call %d: %v", i, v.Refused)
			}
			if s == b && v.Left[0].Remaining != int64(90-2*(i+1)) {
				t.Fatalf("after %d calls %d are left", 2*(i+1), v.Left[0].Remaining)
			}
		}
	}
	if n := passed(t, a, "alice", 20) + passed(t, b, "alice", 20); n != 0 {
		t.Errorf("%d calls beyond the quota passed", n)
	}
	call := quota.Want{Requests: 1, Slot: quota.Calls}
	for _, s := range []*Store{a, b} {
		if v := s.Take(t.Context(), "bob", tier, call); !v.Allowed() {
			t.Fatalf("refused by %v", v.Refused)
		}
	}
	b.Give("bob", quota.Calls)
	b.tellAll(t.Context())
	if v := a.Take(t.Context(), "bob", tier, call); !v.Allowed() {
		t.Errorf("after another replica has told of the end of a call: %v", v.Refused)
	}
}

// TestWhatIsLeftIsToldOfAllReplicas asks one replica what is left while the other
// one takes.
func TestWhatIsLeftIsToldOfAllReplicas(t *testing.T) {
	clock, own := clocktest.New(8), startOwnStore(t)
	own.use(newCounter(clock))
	a, b := remoteReplica(t, own, clock), remoteReplica(t, own, clock)
	a.beat(t.Context())
	b.beat(t.Context())
	left := func() int64 { return b.Known(t.Context(), "alice", tier).Left[0].Remaining }
	for _, want := range []int64{90, 85, 80} {
		if got := left(); got != want {
			t.Errorf("%d are left, want %d", got, want)
		}
		passed(t, a, "alice", 5)
		if got := left(); got != want {
			t.Errorf("within a second the store is asked again, and says %d", got)
		}
		clock.Advance(trustSeen)
	}
	// A stream or a message that costs nothing is told the same.
	if v := b.Take(t.Context(), "alice", tier, quota.Want{}); v.Left[0].Remaining != 75 {
		t.Errorf("a message that costs nothing is told that %d are left", v.Left[0].Remaining)
	}
	own.handler.Store(nil)
	clock.Advance(trustSeen)
	if v := b.Known(t.Context(), "alice", tier); v.Replicas != 2 || v.Left[0].Remaining != 75/2 {
		t.Errorf("without the store: %+v", v)
	}
}

func TestWithoutTheInstallationsOwnStoreEachReplicaGivesItsShare(t *testing.T) {
	clock, own := clocktest.New(8), startOwnStore(t)
	counts := newCounter(clock)
	own.use(counts)
	a, b := remoteReplica(t, own, clock), remoteReplica(t, own, clock)
	a.beat(t.Context())
	b.beat(t.Context())
	if n := passed(t, a, "alice", 10) + passed(t, b, "alice", 10); n != 20 {
		t.Fatalf("%d passed, want 20", n)
	}
	own.handler.Store(nil)
	// Replica a has not heard of the last ten calls.
	if n := passed(t, a, "alice", 90) + passed(t, b, "alice", 90); n != 40+35 {
		t.Errorf("%d passed by share, want half of 80 and of 70", n)
	}
	if a.link.up.Load() || b.link.up.Load() {
		t.Error("nobody noticed that the store is away")
	}
	// It comes back without its memory.
	own.use(newCounter(clock))
	a.beat(t.Context())
	b.beat(t.Context())
	// With its next call each tells what it has seen and allowed.
	n := passed(t, a, "alice", 1) + passed(t, b, "alice", 1)
	if n += passed(t, a, "alice", 90) + passed(t, b, "alice", 90); n > 10 {
		t.Errorf("%d more passed with a store that has forgotten, want no more than the ten that only one replica had heard of", n)
	}
}

func TestAStoreIsTriedOnceThereIsACertificate(t *testing.T) {
	var certificate *tls.Config
	client, err := jsoncall.New("https://127.0.0.1:1", func() *tls.Config { return certificate })
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Replicas: 2, Remote: client, Clock: clocktest.New(8), Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.beat(t.Context())
	if tried, answers := s.Shared(); tried || answers {
		t.Error("it was tried without a certificate")
	}
	// Nobody listens there: that is an answer, too.
	certificate = &tls.Config{MinVersion: tls.VersionTLS13}
	s.beat(t.Context())
	if tried, answers := s.Shared(); !tried || answers {
		t.Error("a store that is away was not tried, or answers")
	}
	if tried, answers := alone(t, clocktest.New(0), 2).Shared(); !tried || !answers {
		t.Error("without a store there is something to try")
	}
}

func TestAReplicaThatEndsLeavesTheStore(t *testing.T) {
	clock, own := clocktest.New(8), startOwnStore(t)
	counts := newCounter(clock)
	own.use(counts)
	s := remoteReplica(t, own, clock)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	if p := counts.Beat("another"); p.Replicas != 1 {
		t.Errorf("%d replicas are left", p.Replicas)
	}
}

// TestAReportThatIsOvertakenIsMadeByTheNextRequest has the first request after the store
// forgot its counts arrive after another one.
func TestAReportThatIsOvertakenIsMadeByTheNextRequest(t *testing.T) {
	clock, own := clocktest.New(0), startOwnStore(t)
	own.use(newCounter(clock))
	s := remoteReplica(t, own, clock)
	s.beat(t.Context())
	if n := passed(t, s, "alice", 100); n != 90 {
		t.Fatalf("%d pass, want 90", n)
	}
	own.use(newCounter(clock))
	s.beat(t.Context())
	clock.Advance(2 * trustSeen) // The refusal is not repeated from memory.
	inner := own.handler.Load()
	held, release := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(held); <-release })
	outer := http.NewServeMux()
	outer.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		default:
			hold()
		}
		inner.ServeHTTP(w, r)
	})
	own.handler.Store(outer)
	first := make(chan bool, 1)
	go func() {
		first <- s.Take(context.WithoutCancel(t.Context()), "alice", tier, quota.Want{Requests: 1}).Allowed()
	}()
	<-held
	if s.Take(t.Context(), "alice", tier, quota.Want{Requests: 1}).Allowed() {
		t.Error("the request that came first passes")
	}
	close(release)
	if <-first {
		t.Error("the request that was overtaken passes")
	}
}
