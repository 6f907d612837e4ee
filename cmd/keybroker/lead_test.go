// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
)

// lease is a Lease that everybody can write.
type lease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	away   bool
}

// contender is one replica's view of the lease.
type contender struct {
	*lease
	name string
}

var errAway = errors.New("the API server is away")

func (c contender) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, nil, errAway
	}
	if c.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, leaseName)
	}
	r := *c.record
	return &r, []byte(r.HolderIdentity + r.RenewTime.String()), nil
}

func (c contender) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return c.Update(ctx, r)
}

func (c contender) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return errAway
	}
	c.record = &r
	return nil
}

func (c contender) RecordEvent(string)     {}
func (c contender) Identity() string       { return c.name }
func (c contender) Describe() string       { return c.name }
func (c contender) Record() runtime.Object { return nil }

func (c *lease) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *lease) holder() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record == nil {
		return ""
	}
	return c.record.HolderIdentity
}

func newContender(l *lease, name string, work func(context.Context) error) *leader {
	return &leader{
		lock: contender{l, name}, work: work, log: slog.New(slog.DiscardHandler),
		duration: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second,
	}
}

func TestWorkEndsWithTheLeaseAndBeginsAgainWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, ended := make(chan struct{}), make(chan struct{})
		l := &lease{}
		one := newContender(l, "one", func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return nil
		})
		done := make(chan error)
		go func() { done <- one.run(ctx) }()
		<-began
		l.set(true)
		<-ended // The server would go on; run has not returned.
		l.set(false)
		<-began
		if h := l.holder(); h != "one" {
			t.Errorf("the lease is held by %q", h)
		}
		cancel()
		<-ended
		if err := <-done; err != nil {
			t.Error(err)
		}
		if h := l.holder(); h != "" {
			t.Errorf("the lease is still held by %q", h)
		}
	})
}

func TestOnlyOneReplicaWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		began := make(chan string)
		work := func(name string) func(context.Context) error {
			return func(ctx context.Context) error {
				began <- name
				<-ctx.Done()
				return nil
			}
		}
		first, cancelFirst := context.WithCancel(t.Context())
		second, cancelSecond := context.WithCancel(t.Context())
		defer cancelSecond()
		var group sync.WaitGroup
		defer group.Wait()
		defer cancelSecond()
		one, two := newContender(l, "one", work("one")), newContender(l, "two", work("two"))
		group.Go(func() { _ = one.run(first) })
		if name := <-began; name != "one" {
			t.Errorf("%s works", name)
		}
		group.Go(func() { _ = two.run(second) })
		select {
		case name := <-began:
			t.Errorf("%s works too", name)
		case <-time.After(10 * time.Minute):
		}
		cancelFirst()
		if name := <-began; name != "two" {
			t.Errorf("%s works", name)
		}
	})
}

func TestWorkThatFailsGivesTheLeaseUpAndIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &lease{}
		var tries []time.Time
		one := newContender(l, "one", func(context.Context) error {
			tries = append(tries, time.Now())
			if len(tries) == 3 {
				cancel()
			}
			return errors.New("no such kind")
		})
		done := make(chan error)
		go func() { done <- one.run(ctx) }()
		synctest.Wait()
		if h := l.holder(); h != "" {
			t.Errorf("the lease is held by %q, who does not work", h)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		for i := 1; i < len(tries); i++ {
			if wait := tries[i].Sub(tries[i-1]); wait < one.duration {
				t.Errorf("it was tried again after %v", wait)
			}
		}
	})
}

func TestTheRingIsToldBesideTheProbes(t *testing.T) {
	probes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	status := func() masterkey.Status {
		return masterkey.Status{Provider: "local", Versions: []uint32{1, 2}, Current: 2, Minimum: 1}
	}
	handler := http.NewServeMux()
	handler.Handle("/", withRing(probes, status, nil))
	handler.Handle("/some/", http.StripPrefix("/some", withRing(probes, status, []string{"b", "a"})))
	for path, want := range map[string]string{
		"/ring":      `200 {"provider":"local","versions":[1,2],"current":2,"minimum":1}`,
		"/some/ring": `200 {"provider":"local","versions":[1,2],"current":2,"minimum":1,"watchNamespaces":["b","a"]}`,
		"/healthz":   "418 ",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := fmt.Sprintf("%d %s", w.Code, w.Body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
