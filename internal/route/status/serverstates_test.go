// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

func TestTheStatesOfServersAfterAReport(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	since := now.Add(-time.Minute)
	down := health.Server{Status: health.Unhealthy, Since: &since, Error: "the server refuses A_TOKEN", Reason: health.ReasonCredentialsRefused}
	isDown := v1alpha1.ServerState{
		Name: "a", State: "Unhealthy", Reason: "CredentialsRefused", Message: "the server refuses A_TOKEN", Since: at(-time.Minute),
	}
	spec := v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "a"}}}
	earlier := isDown
	earlier.Since = at(-time.Hour)
	for name, tt := range map[string]struct {
		spec   v1alpha1.HostedBridgeSpec
		have   []v1alpha1.ServerState
		report map[string]health.Server
		want   []v1alpha1.ServerState
	}{
		"a first report":                            {spec, nil, map[string]health.Server{"a": down}, []v1alpha1.ServerState{isDown}},
		"the same from another process":             {spec, []v1alpha1.ServerState{earlier}, map[string]health.Server{"a": down}, []v1alpha1.ServerState{earlier}},
		"a process that connects keeps what it was": {spec, []v1alpha1.ServerState{earlier}, map[string]health.Server{"a": {Status: health.Connecting}}, []v1alpha1.ServerState{earlier}},
		"a first one that connects": {
			spec, nil, map[string]health.Server{"a": {Status: health.Connecting, Error: "x"}},
			[]v1alpha1.ServerState{{Name: "a", State: "Connecting", Since: at(0)}},
		},
		"a server that is well again": {
			spec, []v1alpha1.ServerState{earlier}, map[string]health.Server{"a": {Status: health.Healthy, Since: &since, Tools: 3}},
			[]v1alpha1.ServerState{{Name: "a", State: "Healthy", Since: at(-time.Minute), Tools: 3}},
		},
		"a server that left the spec": {v1alpha1.HostedBridgeSpec{}, []v1alpha1.ServerState{earlier}, map[string]health.Server{"a": down}, nil},
		"a server of a recipe": {
			v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "a", Recipe: &v1alpha1.RecipeReference{Name: "github"}}}}, nil,
			map[string]health.Server{"a": {Status: health.Healthy, Since: &since, Tools: 1}},
			[]v1alpha1.ServerState{{Name: "a", From: "github", State: "Healthy", Since: at(-time.Minute), Tools: 1}},
		},
		"a report of an attacker": {
			spec, nil, map[string]health.Server{"a": {
				Status: health.Unhealthy, Tools: -1, Reason: "No \x1b[31m", Error: "a\nb\x1b[31m" + strings.Repeat("ü", 1000), Since: new(time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)),
			}, "stranger": down},
			[]v1alpha1.ServerState{{Name: "a", State: "Unhealthy", Reason: "OutOfService", Message: "a b [31m" + strings.Repeat("ü", 252), Since: at(0)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: tt.spec, Status: v1alpha1.HostedBridgeStatus{ServerStates: tt.have}}
			got := serverStates(effective.Of(b), &health.Report{Servers: tt.report}, now)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			b.Status.ServerStates = got
			if again := (pendingUpdate{health: &health.Report{Servers: tt.report}}).reported(effective.Of(b), now.Add(time.Minute)); again["serverStates"] != nil {
				t.Errorf("the same report is written again: %v", again)
			}
		})
	}
}

// fleet is an API server of many bridges with one server each.
type fleet struct {
	mu      sync.Mutex
	bridges map[string]*v1alpha1.HostedBridge
	writes  map[int64]int // by second
	total   int
}

func (f *fleet) get(_ context.Context, b route.Backend) (*effective.Bridge, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return effective.Of(f.bridges[b.Name].DeepCopy()), nil
}

func (f *fleet) patch(_ context.Context, b *v1alpha1.HostedBridge, patch []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes[time.Now().Unix()]++
	f.total++
	return json.Unmarshal(patch, f.bridges[b.Name])
}

// TestAnOutageOfAllTenantsIsWrittenInTurn has a server fail that 2,000 bridges use, and recover
// for some before that was written.
func TestAnOutageOfAllTenantsIsWrittenInTurn(t *testing.T) {
	const bridges, recovered = 400, 100
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{bridges: map[string]*v1alpha1.HostedBridge{}, writes: map[int64]int{}}
		w := newWriter(f.get, f.patch, slog.New(slog.DiscardHandler))
		backend := func(n int) route.Backend {
			name := fmt.Sprintf("user-%d", n)
			return route.Backend{Name: name, BridgeUID: types.UID(name)}
		}
		for n := range bridges {
			b := backend(n)
			f.bridges[b.Name] = &v1alpha1.HostedBridge{
				ObjectMeta: metav1.ObjectMeta{Name: b.Name, ResourceVersion: "1"},
				Spec:       v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "a"}}},
				Status:     v1alpha1.HostedBridgeStatus{ServerStates: []v1alpha1.ServerState{{Name: "a", State: v1alpha1.ServerConnecting}}},
			}
			w.Observe(t.Context(), b, health.Report{Servers: map[string]health.Server{"a": {Status: health.Unhealthy, Error: "down"}}})
		}
		for n := range recovered {
			w.Observe(t.Context(), backend(n), health.Report{Servers: map[string]health.Server{"a": {Status: health.Healthy}}})
		}
		w.Called(backend(bridges-1), time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if last, _ := f.get(ctx, backend(bridges-1)); last.Status.LastActivityTime == nil {
			t.Error("the activity of a bridge waits for the reports of others")
		}
		time.Sleep(bridges / reportsPerSecond * time.Second)
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if f.total > bridges+1 {
			t.Errorf("%d writes for %d bridges", f.total, bridges)
		}
		for second, n := range f.writes {
			if n > reportsAtOnce+reportsPerSecond {
				t.Errorf("%d writes in second %d", n, second)
			}
		}
		for n := range bridges {
			want := v1alpha1.ServerUnhealthy
			if n < recovered {
				want = v1alpha1.ServerHealthy
			}
			b, _ := f.get(ctx, backend(n))
			if len(b.Status.ServerStates) != 1 || b.Status.ServerStates[0].State != want {
				t.Fatalf("bridge %d has %+v, want %s", n, b.Status.ServerStates, want)
			}
		}
	})
}

func TestAServerOfAProfileIsReportedWithIt(t *testing.T) {
	b := &v1alpha1.HostedBridge{
		Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "own"}, {Name: "given"}}},
		Status: v1alpha1.HostedBridgeStatus{
			Effective: &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
				{Name: "given", Profile: "engineering", Use: v1alpha1.ServerRequired}, {Name: "own", Profile: "engineering", Use: v1alpha1.ServerDefault, Reason: v1alpha1.ReasonServerShadowed},
			}},
			ServerStates: []v1alpha1.ServerState{{Name: "given", State: v1alpha1.ServerHealthy, Profile: "former"}},
		},
	}
	states := serverStates(effective.Of(b), &health.Report{Servers: map[string]health.Server{"own": {Status: health.Healthy}, "given": {Status: health.Healthy}}}, time.Now())
	if len(states) != 2 || states[0].Profile != "" || states[0].Use != "" || states[1].Profile != "engineering" || states[1].Use != v1alpha1.ServerRequired {
		t.Errorf("%+v", states)
	}
}

func TestTheLastReportOfABridgeThatSleeps(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b := &v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Tools: new(int32(3)), ServerStates: []v1alpha1.ServerState{
		{Name: "a", State: "Healthy", Tools: 3, Since: &at},
		{Name: "b", State: "Unhealthy", Reason: "CredentialsRefused", Message: "the server refuses B_TOKEN", Since: &at},
	}}}
	w := newWriter(func(context.Context, route.Backend) (*effective.Bridge, error) { return effective.Of(b), nil }, nil, slog.New(slog.DiscardHandler))
	want := health.Report{Tools: 3, Servers: map[string]health.Server{
		"a": {Status: health.Healthy, Tools: 3, Since: &at.Time},
		"b": {Status: health.Unhealthy, Reason: health.ReasonCredentialsRefused, Error: "the server refuses B_TOKEN", Since: &at.Time},
	}}
	if diff := cmp.Diff(want, w.LastReport(t.Context(), route.Backend{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
