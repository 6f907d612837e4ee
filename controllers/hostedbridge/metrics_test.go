// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

// listed is a cache with these bridges.
type listed struct {
	client.Reader
	bridges []v1alpha1.HostedBridge
}

func (l listed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*v1alpha1.HostedBridgeList).Items = l.bridges
	return nil
}

func elected() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	one := v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{ServerStates: []v1alpha1.ServerState{{Name: "a", State: "Healthy"}}}}
	reg.MustRegister(&Metrics{Reader: listed{bridges: []v1alpha1.HostedBridge{one}}, Elected: elected(), Now: time.Now})
	metricstest.Documented(t, "operator", reg.Metrics())
}

func TestBridgesAreCountedByPhaseAndByWhatIsWrong(t *testing.T) {
	with := func(phase v1alpha1.Phase, conditions ...metav1.Condition) v1alpha1.HostedBridge {
		return v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Phase: phase, Conditions: conditions}}
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"}
	refused := metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "UserIDConflict"}
	counted, conditions := count([]v1alpha1.HostedBridge{
		with(v1alpha1.PhaseRunning, ready), with(v1alpha1.PhaseRunning, ready), with(""), with(v1alpha1.PhaseFailed, refused),
	})
	want := map[v1alpha1.Phase]int{"Running": 2, "Pending": 1, "Failed": 1, "Asleep": 0, "Suspended": 0, "Waking": 0}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if len(conditions) != 1 || conditions[condition{"Accepted", metav1.ConditionFalse, "UserIDConflict"}] != 1 {
		t.Errorf("conditions are %v", conditions)
	}
}

func TestServersAreCountedByRecipeAndState(t *testing.T) {
	with := func(states ...v1alpha1.ServerState) v1alpha1.HostedBridge {
		return v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{ServerStates: states}}
	}
	got := countServers([]v1alpha1.HostedBridge{
		with(v1alpha1.ServerState{Name: "a", From: "github", State: "Unhealthy"}, v1alpha1.ServerState{Name: "b", State: "Healthy"}),
		with(v1alpha1.ServerState{Name: "x", From: "github", State: "Unhealthy"}), with(),
	})
	want := map[serverState]int{{"github", "Unhealthy"}: 2, {"", "Healthy"}: 1}
	if !maps.Equal(got, want) {
		t.Errorf("servers are %v, want %v", got, want)
	}
}

func TestABridgeIsOverdueThatHasNotBeenReadyForLong(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	for _, test := range []struct {
		name       string
		created    time.Duration
		phase      v1alpha1.Phase
		ready      metav1.ConditionStatus
		transition time.Duration
		want       int
	}{
		{"starting for a quarter of an hour", time.Hour, v1alpha1.PhasePending, metav1.ConditionFalse, 15 * time.Minute, 1},
		{"woken a quarter of an hour ago", time.Hour, v1alpha1.PhaseWaking, metav1.ConditionFalse, 15 * time.Minute, 1},
		{"seen by nobody for a quarter of an hour", 15 * time.Minute, "", "", 0, 1},
		{"just made", time.Minute, "", "", 0, 0},
		{"started anew a minute ago", time.Hour, v1alpha1.PhasePending, metav1.ConditionFalse, time.Minute, 0},
		{"waiting for its turn to wake", time.Hour, v1alpha1.PhaseWaking, metav1.ConditionTrue, 50 * time.Minute, 0},
		{"asleep", time.Hour, v1alpha1.PhaseAsleep, metav1.ConditionTrue, 50 * time.Minute, 0},
		{"refused, which is Failed's to count", time.Hour, v1alpha1.PhaseFailed, metav1.ConditionFalse, 50 * time.Minute, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Phase: test.phase}}
			b.CreationTimestamp = ago(test.created)
			if test.ready != "" {
				b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: test.ready, LastTransitionTime: ago(test.transition)}}
			}
			if got := countOverdue([]v1alpha1.HostedBridge{b}, now); got != test.want {
				t.Errorf("%d are overdue, want %d", got, test.want)
			}
		})
	}
}

func TestAReplicaThatWaitsCountsNothing(t *testing.T) {
	reg := metricstest.New()
	reg.MustRegister(&Metrics{Reader: listed{bridges: make([]v1alpha1.HostedBridge, 3)}, Elected: make(chan struct{})})
	if families, err := reg.Gather(); err != nil || len(families) != 0 {
		t.Errorf("%d families (%v)", len(families), err)
	}
}
