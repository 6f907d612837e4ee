// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// startingTable is one of n users whose pods are not ready.
func startingTable(t *testing.T, n int) *route.Table {
	t.Helper()
	backends := make([]route.Backend, n)
	for i := range backends {
		name := fmt.Sprintf("user-%d", i)
		backends[i] = route.Backend{
			User: v1alpha1.UserID(name), BridgeUID: types.UID(name), State: route.Starting,
			Absence: route.Absence{Candidate: route.Candidate{PodName: name, PodUID: types.UID(name), PodIP: "10.0.0.1"}},
		}
	}
	table, err := route.Restore(route.Content{Backends: backends})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func candidatesOf(t *testing.T, table *route.Table, ready func(context.Context, route.Backend) error) (*readinessProber, *fakeRoutes) {
	t.Helper()
	routes := newFakeRoutes()
	routes.set(table)
	c, err := newReadinessProber(routes, &failedPods{}, ready, prometheus.NewRegistry())
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
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
	}
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
		if first, second := asked.times[0].Sub(began), asked.times[1].Sub(began); first != 0 || second != ProbePause+time.Millisecond {
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
		c.failed.add(b.At(b.Candidate), time.Now())
		if resolves() {
			t.Error("it is used though it was not reached")
		}
		time.Sleep(DropFor)
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
