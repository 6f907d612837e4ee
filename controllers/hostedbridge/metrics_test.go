// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"testing"

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
	reg.MustRegister(&Metrics{Reader: listed{}, Elected: elected()})
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
	want := map[v1alpha1.Phase]int{"Running": 2, "Pending": 1, "Failed": 1, "Suspended": 0, "Waking": 0}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if len(conditions) != 1 || conditions[condition{"Accepted", metav1.ConditionFalse, "UserIDConflict"}] != 1 {
		t.Errorf("conditions are %v", conditions)
	}
}

func TestAReplicaThatWaitsCountsNothing(t *testing.T) {
	reg := metricstest.New()
	reg.MustRegister(&Metrics{Reader: listed{bridges: make([]v1alpha1.HostedBridge, 3)}, Elected: make(chan struct{})})
	if families, err := reg.Gather(); err != nil || len(families) != 0 {
		t.Errorf("%d families (%v)", len(families), err)
	}
}
