// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// storedLease is a Lease that everybody can write.
type storedLease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	away   bool
}

// contender is one replica's view of the lease.
type contender struct {
	*storedLease
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
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lease")
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

func (c *storedLease) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *storedLease) holder() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record == nil {
		return ""
	}
	return c.record.HolderIdentity
}

func newContender(l *storedLease, name string, work func(context.Context) error) *Leader {
	return &Leader{
		name: "lease", lock: contender{l, name}, work: work, log: slog.New(slog.DiscardHandler),
		Duration: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second,
	}
}

func TestWorkEndsWithTheLeaseAndBeginsAgainWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, ended := make(chan struct{}), make(chan struct{})
		l := &storedLease{}
		one := newContender(l, "one", func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return nil
		})
		done := make(chan error)
		go func() { done <- one.Run(ctx) }()
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
		l := &storedLease{}
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
		group.Go(func() { _ = one.Run(first) })
		if name := <-began; name != "one" {
			t.Errorf("%s works", name)
		}
		group.Go(func() { _ = two.Run(second) })
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
		l := &storedLease{}
		var tries []time.Time
		one := newContender(l, "one", func(context.Context) error {
			tries = append(tries, time.Now())
			if len(tries) == 3 {
				cancel()
			}
			return errors.New("no such kind")
		})
		done := make(chan error)
		go func() { done <- one.Run(ctx) }()
		synctest.Wait()
		if h := l.holder(); h != "" {
			t.Errorf("the lease is held by %q, who does not work", h)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		for i := 1; i < len(tries); i++ {
			if wait := tries[i].Sub(tries[i-1]); wait < one.Duration {
				t.Errorf("it was tried again after %v", wait)
			}
		}
	})
}
