// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// store is an API server with one bridge on demand, and the watch of it.
type store struct {
	mu       sync.Mutex
	bridge   v1alpha1.HostedBridge
	written  []time.Time // lastActivityTime, with each write
	failures []error     // of the next writes
	// before is called before each write.
	before func(*v1alpha1.HostedBridge)
}

func (s *store) get(context.Context, route.Backend) (*effective.Bridge, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return effective.Of(s.bridge.DeepCopy()), nil
}

func (s *store) patch(_ context.Context, seen *v1alpha1.HostedBridge, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		s.before(&s.bridge)
	}
	if len(s.failures) > 0 {
		err := s.failures[0]
		s.failures = s.failures[1:]
		return err
	}
	if seen.ResourceVersion != s.bridge.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{}, "alice", errors.New("modified"))
	}
	if err := json.Unmarshal(patch, &s.bridge); err != nil {
		return err
	}
	s.changed()
	s.written = append(s.written, s.bridge.Status.LastActivityTime.Time)
	return nil
}

// changed gives the bridge its next version.
func (s *store) changed() {
	version, _ := strconv.Atoi(s.bridge.ResourceVersion)
	s.bridge.ResourceVersion = strconv.Itoa(version + 1)
}

func (s *store) last() *metav1.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bridge.Status.LastActivityTime.DeepCopy()
}

func newStore() (*store, *Writer) {
	api := &store{bridge: v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: "alice", ResourceVersion: "1"}}}
	api.bridge.Spec.DesiredState = v1alpha1.StateOnDemand
	return api, newWriter(api.get, api.patch, slog.New(slog.DiscardHandler))
}

// onDemand is the backend of a bridge that sleeps after two minutes.
var onDemand = route.Backend{BridgeUID: "uid-alice", Name: "alice", IdleTimeout: 2 * time.Minute}

func following(t *testing.T, f func(*testing.T, *store, *Writer)) {
	synctest.Test(t, func(t *testing.T) {
		api, s := newStore()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		f(t, api, s)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// writes returns how often lastActivityTime was written.
func (s *store) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.written)
}

// late returns how late the status is by now.
func (s *store) late(t *testing.T) time.Duration {
	t.Helper()
	synctest.Wait()
	last := s.last()
	if last == nil {
		t.Fatal("no use was written")
	}
	return time.Since(last.Time)
}

func TestTheLastUseIsExactThoughMostAreNotWritten(t *testing.T) {
	following(t, func(t *testing.T, api *store, s *Writer) {
		for range 100 { // In 100 s.
			s.Called(onDemand, time.Now())
			time.Sleep(flushEvery) // The first is written by then.
			if late := api.late(t); late > 33*time.Second {
				t.Fatalf("the status is %s late", late)
			}
		}
		end := time.Now()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if last := api.last(); end.Sub(last.Time) > 2*time.Second {
			t.Errorf("the last use is written as of %s before it was", end.Sub(last.Time))
		}
		if n := api.writes(); n > 5 {
			t.Errorf("%d writes in 130 s, want one each 30 s and the first", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if last := api.last(); last.After(end) || s.pendingCount() > 0 {
			t.Errorf("without use it is written as of %s after the last; %d are noted", last.Sub(end), s.pendingCount())
		}
	})
}

func TestACallInFlightIsUse(t *testing.T) {
	following(t, func(t *testing.T, api *store, s *Writer) {
		s.Began(onDemand, time.Now())
		s.Began(onDemand, time.Now())
		time.Sleep(time.Hour)
		if late := api.late(t); late > 33*time.Second {
			t.Errorf("with calls in flight the status is %s late", late)
		}
		s.Ended(onDemand, time.Now())
		time.Sleep(time.Hour)
		if late := api.late(t); late > 33*time.Second {
			t.Errorf("with a call in flight the status is %s late", late)
		}
		s.Ended(onDemand, time.Now())
		end := time.Now()
		time.Sleep(time.Hour)
		synctest.Wait()
		if last := api.last().Time; last.After(end) || end.Sub(last) > time.Second {
			t.Errorf("the end of the last call is written as of %s before it", end.Sub(last))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.inUse) > 0 {
			t.Errorf("%d bridges are still in use", len(s.inUse))
		}
	})
}

func TestABusyBridgeIsInUse(t *testing.T) {
	following(t, func(t *testing.T, api *store, s *Writer) {
		s.Observe(t.Context(), onDemand, health.Report{Busy: 1})
		time.Sleep(2 * time.Second)
		if late := api.late(t); late > 3*time.Second {
			t.Errorf("the status is %s late", late)
		}
		before := *api.last()
		time.Sleep(time.Hour)
		s.Observe(t.Context(), onDemand, health.Report{})
		time.Sleep(time.Hour)
		synctest.Wait()
		if !api.last().Equal(&before) {
			t.Error("the report of a bridge that does nothing is use")
		}
	})
}

func TestUseThatTheOperatorHadNotHeardOfWakesABridge(t *testing.T) {
	following(t, func(t *testing.T, api *store, s *Writer) {
		s.Called(onDemand, time.Now())
		time.Sleep(5 * time.Second)
		s.Called(onDemand, time.Now()) // Would be written 25 s later.
		api.mu.Lock()
		api.bridge.Status.IdleSince = api.bridge.Status.LastActivityTime.DeepCopy()
		api.mu.Unlock()
		time.Sleep(27 * time.Second)
		synctest.Wait()
		if api.mu.Lock(); !effective.Woken(&api.bridge) {
			t.Errorf("it sleeps on: %v, %v", api.bridge.Status.IdleSince, api.bridge.Status.LastActivityTime)
		}
		api.mu.Unlock()
	})
}

func TestWakeIsWrittenOnceForABridgeThatSleeps(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "alice", errors.New("modified"))
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(d).Truncate(time.Second)} }
	for name, tt := range map[string]struct {
		idleSince, last func() *metav1.Time
		failures        []error
		before          func(*v1alpha1.HostedBridge)
		writes          int
		fails           bool
	}{
		"it sleeps":                    {idleSince: func() *metav1.Time { return at(-time.Hour) }, writes: 1},
		"it runs":                      {},
		"another replica has woken it": {idleSince: func() *metav1.Time { return at(-time.Hour) }, last: func() *metav1.Time { return at(0) }},
		"it sleeps by a clock that is ahead": {
			idleSince: func() *metav1.Time { return at(time.Hour) }, writes: 1,
		},
		"another write comes between": {idleSince: func() *metav1.Time { return at(-time.Hour) }, failures: []error{conflict}, writes: 1},
		"others come between for ever": {
			idleSince: func() *metav1.Time { return at(-time.Hour) }, failures: []error{conflict, conflict, conflict, conflict}, fails: true,
		},
		"the API server is away":  {idleSince: func() *metav1.Time { return at(-time.Hour) }, failures: []error{errors.New("refused")}, fails: true},
		"it is deleted meanwhile": {idleSince: func() *metav1.Time { return at(-time.Hour) }, failures: []error{apierrors.NewNotFound(schema.GroupResource{}, "alice")}},
		"another replica wakes it meanwhile": {
			idleSince: func() *metav1.Time { return at(-time.Hour) }, failures: []error{conflict},
			before: func(b *v1alpha1.HostedBridge) { b.Status.LastActivityTime = at(0) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, s := newStore()
				if tt.idleSince != nil {
					api.bridge.Status.IdleSince = tt.idleSince()
				}
				if tt.last != nil {
					api.bridge.Status.LastActivityTime = tt.last()
				}
				api.failures, api.before = tt.failures, tt.before
				err := s.Wake(t.Context(), onDemand)
				if (err != nil) != tt.fails || len(api.written) != tt.writes {
					t.Errorf("wrote %v, error %v", api.written, err)
				}
				if tt.writes > 0 && !effective.Woken(&api.bridge) {
					t.Errorf("it sleeps since %v and is called at %v", api.bridge.Status.IdleSince, api.bridge.Status.LastActivityTime)
				}
			})
		})
	}
}
