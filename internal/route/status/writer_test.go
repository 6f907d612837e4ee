// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestOnlyWhatTheStatusLacksIsWritten(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { at := metav1.NewTime(now.Add(-d)); return &at }
	tools := func(n int32) *int32 { return &n }
	twoOfThree := &health.Report{Tools: 7, Servers: map[string]health.Server{
		"a": {Status: health.Healthy}, "b": {Status: health.Healthy}, "c": {Status: health.Connecting},
	}}
	colliding := &health.Report{Renamed: []health.Renamed{{Kind: "tool", Name: "search_2", Server: "jira", Original: "search"}}}
	for _, test := range []struct {
		name string
		note pendingUpdate
		have v1alpha1.HostedBridgeStatus
		want []string
	}{
		{"the first call", pendingUpdate{calledAt: now}, v1alpha1.HostedBridgeStatus{}, []string{"lastActivityTime"}},
		{"a call five minutes after the one that was written", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(5 * time.Minute)}, []string{"lastActivityTime"}},
		{"a call less than that after it", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(5*time.Minute - time.Second)}, nil},
		{"a call soon after it, five minutes later", pendingUpdate{calledAt: now.Add(-4 * time.Minute)},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(5 * time.Minute)}, []string{"lastActivityTime"}},
		{"a call of the same second, five minutes later", pendingUpdate{calledAt: now.Add(-5*time.Minute + time.Millisecond)},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(5 * time.Minute)}, nil},
		{"a call of a bridge that sleeps after a minute", pendingUpdate{calledAt: now, backend: route.Backend{IdleTimeout: time.Minute}},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(15 * time.Second)}, []string{"lastActivityTime"}},
		{"a call of a bridge that sleeps after a day", pendingUpdate{calledAt: now, backend: route.Backend{IdleTimeout: 24 * time.Hour}},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(5 * time.Minute)}, []string{"lastActivityTime"}},
		{"a call that the operator had not heard of", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(time.Second), IdleSince: ago(time.Second)}, []string{"lastActivityTime"}},
		{"a call before it, of another replica", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(-5 * time.Minute)}, nil},
		{"a call before a time that no clock of the installation has yet", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(-time.Hour)}, []string{"lastActivityTime"}},
		{"no call, and a time that no clock of the installation has yet", pendingUpdate{},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(-time.Hour)}, []string{"lastActivityTime"}},
		{"a time that lies ahead since it woke the bridge", pendingUpdate{calledAt: now},
			v1alpha1.HostedBridgeStatus{LastActivityTime: ago(-time.Hour), IdleSince: ago(-time.Hour)}, nil},
		{"the first report", pendingUpdate{health: twoOfThree}, v1alpha1.HostedBridgeStatus{}, []string{"servers", "tools"}},
		{"a report of what is known", pendingUpdate{health: twoOfThree},
			v1alpha1.HostedBridgeStatus{Servers: "2/3", Tools: tools(7)}, nil},
		{"a report of other tools", pendingUpdate{health: twoOfThree},
			v1alpha1.HostedBridgeStatus{Servers: "2/3", Tools: tools(6)}, []string{"tools"}},
		{"a report of no tools where nothing is known", pendingUpdate{health: &health.Report{}},
			v1alpha1.HostedBridgeStatus{Servers: "0/0"}, []string{"tools"}},
		{"a report of a collision", pendingUpdate{health: colliding}, v1alpha1.HostedBridgeStatus{Servers: "0/0", Tools: tools(0)}, []string{"collisions"}},
		{"a report of a collision that is known", pendingUpdate{health: colliding},
			v1alpha1.HostedBridgeStatus{Servers: "0/0", Tools: tools(0), Collisions: []string{`tool "search": jira`}}, nil},
		{"a report of no collision any more", pendingUpdate{health: &health.Report{}},
			v1alpha1.HostedBridgeStatus{Servers: "0/0", Tools: tools(0), Collisions: []string{`tool "search": jira`}}, []string{"collisions"}},
		{"a report and a call", pendingUpdate{health: twoOfThree, calledAt: now},
			v1alpha1.HostedBridgeStatus{Tools: tools(7)}, []string{"lastActivityTime", "servers"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Status: test.have}
			fields, _ := test.note.changes(effective.Of(b), now)
			maps.Copy(fields, test.note.reported(effective.Of(b), now))
			got := slices.Sorted(maps.Keys(fields))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABridgeThatClaimsTooManyToolsIsCutShort(t *testing.T) {
	for claimed, want := range map[int]int32{-1: 0, 1 << 40: 1 << 30} {
		fields := pendingUpdate{health: &health.Report{Tools: claimed}}.reported(effective.Of(&v1alpha1.HostedBridge{}), time.Time{})
		if fields["tools"] != want {
			t.Errorf("%d tools become %v", claimed, fields["tools"])
		}
	}
}

// server is an API server whose bridges have no status yet, and which fails
// while it is told to.
type server struct {
	mu      sync.Mutex
	failure error
	tries   int
	busy    int
	busiest int
	patches []string
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

func (s *server) patch(ctx context.Context, b *v1alpha1.HostedBridge, patch []byte) error {
	s.mu.Lock()
	s.tries++
	s.busy++
	s.busiest = max(s.busiest, s.busy)
	s.mu.Unlock()
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if s.failure == nil {
		s.patches = append(s.patches, b.Name+" "+string(patch))
	}
	return s.failure
}

func (s *server) written() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.patches)
}

// write runs a writer for the test.
func write(t *testing.T) (*Writer, *server) {
	t.Helper()
	api := &server{}
	s := newWriter(
		func(_ context.Context, b route.Backend) (*effective.Bridge, error) {
			if b.Name == "gone" {
				return nil, errors.New("gone")
			}
			return effective.Of(&v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: b.Name, ResourceVersion: "7"}}), nil
		},
		api.patch, slog.New(slog.DiscardHandler),
	)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, api
}

func backendOf(name string) route.Backend {
	return route.Backend{BridgeUID: types.UID("uid-" + name), Name: name}
}

// The synctest clock begins at midnight of 2000-01-01.
const aliceCalled = `alice {"metadata":{"resourceVersion":"7"},"status":{"lastActivityTime":"2000-01-01T00:00:00Z"}}`

func TestManyCallsAreOneWriteForTheVersionThatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := write(t)
		for i := range 1000 {
			s.Called(backendOf("alice"), time.Now().Add(-time.Duration(i)*time.Minute))
		}
		s.Called(backendOf("gone"), time.Now())
		time.Sleep(10 * flushEvery)
		if diff := cmp.Diff([]string{aliceCalled}, api.written()); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsLostWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := write(t)
		api.fail(errors.New("connection refused"))
		const bridges = 100
		for i := range bridges {
			s.Called(backendOf(fmt.Sprint("bridge-", i)), time.Now())
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// 10 minutes at 30 s and the way there, at most one try per writer.
		if tries := api.tries; tries > 30*writers {
			t.Errorf("%d tries in ten minutes", tries)
		}
		for i := range bridges {
			s.Observe(t.Context(), backendOf(fmt.Sprint("bridge-", i)), health.Report{})
		}
		api.fail(nil)
		time.Sleep(flushAtMost + flushEvery)
		written := api.written()
		if len(written) != bridges {
			t.Fatalf("%d patches, want one for each bridge: %q", len(written), written)
		}
		for _, patch := range written {
			var name, body string
			must.Value(fmt.Sscanf(patch, "%s %s", &name, &body))(t)
			want := `{"metadata":{"resourceVersion":"7"},"status":{"lastActivityTime":"2000-01-01T00:00:00Z","servers":"0/0","tools":0}}`
			if body != want {
				t.Fatalf("%s gets %s, want %s", name, body, want)
			}
		}
		if api.busiest > writers {
			t.Errorf("%d writes at once", api.busiest)
		}
	})
}

func TestWhatFollowsAFailedWrite(t *testing.T) {
	resource := schema.GroupResource{Resource: "hostedbridges"}
	for _, test := range []struct {
		name  string
		err   error
		again bool
	}{
		{"a conflict is tried again", apierrors.NewConflict(resource, "alice", errors.New("modified")), true},
		{"an overloaded API server is tried again", apierrors.NewTooManyRequests("later", 1), true},
		{"a broken one is tried again", apierrors.NewInternalError(errors.New("no leader")), true},
		{"one that is not there yet is tried again", apierrors.NewServiceUnavailable("later"), true},
		{"a refusal is not", apierrors.NewForbidden(resource, "alice", errors.New("no")), false},
		{"a bridge that has gone is not", apierrors.NewNotFound(resource, "alice"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, api := write(t)
				api.fail(test.err)
				s.Called(backendOf("alice"), time.Now())
				time.Sleep(2 * flushEvery)
				api.fail(nil)
				time.Sleep(flushAtMost)
				if written := api.written(); (len(written) == 1) != test.again || len(written) > 1 {
					t.Errorf("patches afterwards: %q", written)
				}
			})
		})
	}
}

func TestARefusalDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := write(t)
		patch := s.patch
		s.patch = func(ctx context.Context, b *v1alpha1.HostedBridge, p []byte) error {
			if b.Name == "poison" {
				return apierrors.NewBadRequest("no")
			}
			return patch(ctx, b, p)
		}
		s.Called(backendOf("poison"), time.Now())
		s.Called(backendOf("alice"), time.Now())
		time.Sleep(2 * flushEvery)
		if diff := cmp.Diff([]string{aliceCalled}, api.written()); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
	})
}

func TestABrokenWriteWaitsLongerEachTimeAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, api := write(t)
		patch, tries := s.patch, 0
		s.patch = func(ctx context.Context, b *v1alpha1.HostedBridge, p []byte) error {
			if b.Name == "broken" {
				tries++
				return apierrors.NewInternalError(errors.New("failed calling webhook"))
			}
			return patch(ctx, b, p)
		}
		s.Called(backendOf("broken"), time.Now())
		for i := range 60 {
			name := fmt.Sprint("bridge-", i)
			s.Called(backendOf(name), time.Now())
			// Calls of the broken one do not have it tried any sooner.
			s.Called(backendOf("broken"), time.Now())
			time.Sleep(flushEvery)
			synctest.Wait()
		}
		time.Sleep(flushEvery)
		if written := api.written(); len(written) != 60 {
			t.Errorf("%d of the others are written, want 60", len(written))
		}
		// After 1, 2, 4, 8, 16 and 30 s.
		if tries < 5 || tries > 7 {
			t.Errorf("%d tries in a minute", tries)
		}
	})
}

func TestTheLastFlushWritesWhatHadTime(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(*Writer, *server)
		want    int
		within  time.Duration
	}{
		{"all that is noted", func(*Writer, *server) {}, 101, lastFlushTimeout},
		{"what another writer was quicker than", func(s *Writer, _ *server) {
			patch, quicker := s.patch, true
			s.patch = func(ctx context.Context, b *v1alpha1.HostedBridge, p []byte) error {
				if b.Name == "alice" && quicker {
					quicker = false
					return apierrors.NewConflict(schema.GroupResource{}, "alice", errors.New("modified"))
				}
				return patch(ctx, b, p)
			}
		}, 101, lastFlushTimeout},
		{"nothing while the API server is away", func(_ *Writer, api *server) { api.fail(errors.New("connection refused")) }, 0, time.Second},
		{"what it can of an API server that hangs", func(s *Writer, _ *server) {
			s.patch = func(ctx context.Context, _ *v1alpha1.HostedBridge, _ []byte) error {
				<-ctx.Done()
				return ctx.Err()
			}
		}, 0, lastFlushTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &server{}
				recent := metav1.NewTime(time.Now())
				s := newWriter(
					func(_ context.Context, b route.Backend) (*effective.Bridge, error) {
						// Written so recently that the next time has minutes.
						return effective.Of(&v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Status: v1alpha1.HostedBridgeStatus{LastActivityTime: &recent}}), nil
					},
					api.patch, slog.New(slog.DiscardHandler),
				)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.Run(ctx) }()
				time.Sleep(10 * time.Second)
				for i := range 100 {
					s.Called(backendOf(fmt.Sprint("bridge-", i)), time.Now())
				}
				s.Began(backendOf("alice"), time.Now())
				time.Sleep(2 * flushEvery)
				if written := api.written(); len(written) != 0 {
					t.Fatalf("what has time is written: %q", written)
				}
				test.prepare(s, api)
				end := time.Now()
				cancel()
				if err := <-ended; err != nil || time.Since(end) > test.within {
					t.Errorf("Run ends after %s with %v", time.Since(end), err)
				}
				if written := api.written(); len(written) != test.want {
					t.Errorf("%d are written, want %d", len(written), test.want)
				}
			})
		})
	}
}
