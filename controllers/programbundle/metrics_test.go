// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// listed is a cache with bundles of these reasons, empty for one that was never reconciled.
type listed struct {
	client.Reader
	reasons []string
}

func (l listed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for _, reason := range l.reasons {
		b := unmade()
		if reason != "" {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason}}
		}
		into.(*v1alpha1.ProgramBundleList).Items = append(into.(*v1alpha1.ProgramBundleList).Items, *b)
	}
	return nil
}

func TestBundlesAreCountedByTheirState(t *testing.T) {
	elected := make(chan struct{})
	m := &Metrics{Reader: listed{reasons: []string{"", "Ready", "Ready", "VersionNotFound"}}, Elected: elected}
	reg := metricstest.New()
	reg.MustRegister(m)
	counted := func() map[string]float64 {
		series := map[string]float64{}
		for _, family := range must.Value(reg.Gather())(t) {
			for _, metric := range family.GetMetric() {
				series[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
		return series
	}
	if got := counted(); len(got) != 0 {
		t.Errorf("a replica that does not lead counts %v", got)
	}
	close(elected)
	if diff := cmp.Diff(map[string]float64{"Installing": 1, "Ready": 2, "VersionNotFound": 1}, counted()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	metricstest.Documented(t, "operator's bundles", reg.Metrics())
}
