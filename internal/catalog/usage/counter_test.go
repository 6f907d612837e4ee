// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// asked is a time that calls were counted of, in hours since the clock's start.
type asked struct{ From, To float64 }

// world is what a counter finds, in step with a clock: while the test holds a
// wait, the counter does nothing.
type world struct {
	t     *testing.T
	clock *clocktest.Clock

	mu         sync.Mutex
	bridges    []*effective.Bridge
	bridgesErr error
	calls      []time.Time
	usesErr    error
	asked      []asked
	told       []map[string]int64
}

func bridgeOf(user string) *effective.Bridge {
	return effective.Of(&v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: user},
		Spec:       v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "gh", Recipe: &v1alpha1.RecipeReference{Name: "github"}}}},
	})
}

// begin runs a counter and returns once it waits for the first time.
func begin(t *testing.T, indexed bool, change func(w *world)) (*world, clocktest.Wait) {
	t.Helper()
	w := &world{t: t, clock: clocktest.New(0), bridges: []*effective.Bridge{bridgeOf("alice")}}
	change(w)
	s := Sources{Bridges: w.listBridges, Set: w.set, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
	if indexed {
		s.Uses = w.uses
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- NewCounter(s).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for {
			select {
			case <-w.clock.Waits:
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	return w, <-w.clock.Waits
}

func (w *world) listBridges(context.Context) ([]*effective.Bridge, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bridges, w.bridgesErr
}

func (w *world) uses(_ context.Context, from, to time.Time) ([]audit.Use, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, asked{from.Sub(clocktest.Start).Hours(), to.Sub(clocktest.Start).Hours()})
	if w.usesErr != nil {
		return nil, w.usesErr
	}
	u := audit.Use{UserID: "alice", Server: "gh"}
	for _, at := range w.calls {
		if !at.Before(from) && at.Before(to) {
			u.Calls++
		}
	}
	return []audit.Use{u}, nil
}

func (w *world) set(popularity map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, popularity)
}

// pass changes what there is, lets a wait pass and returns the next.
func (w *world) pass(wait clocktest.Wait, change func()) clocktest.Wait {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.clock.End(wait)
	return <-w.clock.Waits
}

// expect looks at what the catalog was told since the last time.
func (w *world) expect(want ...int64) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []int64
	for _, popularity := range w.told {
		got = append(got, popularity["github"])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the catalog was told:\n%s", diff)
	}
	w.told = nil
}

func nothing() {}

func TestCallsAreCountedAndAdded(t *testing.T) {
	start := clocktest.Start
	w, wait := begin(t, true, func(w *world) {
		w.calls = []time.Time{start.Add(-31 * 24 * time.Hour), start.Add(-29 * 24 * time.Hour), start.Add(-time.Minute)}
	})
	w.expect(102)
	if wait.D != updateInterval {
		t.Errorf("it waits for %v", wait.D)
	}
	wait = w.pass(wait, func() { w.calls = append(w.calls, start.Add(time.Minute)) })
	w.expect(103)
	wait = w.pass(wait, func() { w.calls = append(w.calls, start.Add(6*time.Minute)) })
	w.expect(104)
	wait = w.pass(wait, nothing)
	w.expect() // Nobody is told what is known.
	w.clock.Advance(recountInterval)
	// One that was late is found when all are counted.
	wait = w.pass(wait, func() { w.calls = append(w.calls, start.Add(-2*time.Minute)) })
	w.expect(105)
	w.clock.Advance(2 * 24 * time.Hour) // And by then one has left the window.
	w.pass(wait, nothing)
	w.expect(104)

	month, m := -30.0*24, 1.0/12
	hours := []asked{{month, 0}, {0, m}, {0, 2 * m}, {0, 3 * m}, {month + 6 + 4*m, 6 + 4*m}, {month + 54 + 5*m, 54 + 5*m}}
	for i, a := range w.asked {
		if round(a) != round(hours[i]) {
			t.Errorf("question %d is of %+v, want %+v", i, a, hours[i])
		}
	}
}

func round(a asked) [2]int64 { return [2]int64{int64(a.From*60 + 1e6 + .5), int64(a.To*60 + 1e6 + .5)} }

func TestWithoutAnIndexBridgesCount(t *testing.T) {
	w, wait := begin(t, false, func(w *world) { w.bridges = append(w.bridges, bridgeOf("bob")) })
	w.expect(200)
	wait = w.pass(wait, func() { w.bridges = nil })
	w.expect(0)
	w.pass(wait, nothing)
	w.expect()
}

func TestWhatIsAwayIsAskedAgainSoon(t *testing.T) {
	w, wait := begin(t, true, func(w *world) { w.bridgesErr, w.calls = errors.New("not yet"), []time.Time{clocktest.Start} })
	w.expect()
	if wait.D != retryInterval {
		t.Errorf("it waits for %v", wait.D)
	}
	wait = w.pass(wait, func() { w.bridgesErr, w.usesErr = nil, errors.New("the database is away") })
	w.expect(100)
	if wait.D != retryInterval {
		t.Errorf("it waits for %v", wait.D)
	}
	wait = w.pass(wait, func() { w.usesErr = nil })
	w.expect(101)
	if wait.D != updateInterval {
		t.Errorf("it waits for %v", wait.D)
	}
	// What was counted stays while nothing can be counted.
	w.pass(wait, func() { w.usesErr, w.bridges = errors.New("the database is away"), append(w.bridges, bridgeOf("bob")) })
	w.expect(201)
}
