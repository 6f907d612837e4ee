// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	must.Value(NewMetrics(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: "sealed"})))(t)
	metricstest.Documented(t, "sealing", reg.Metrics())
}

func TestMetricsTellWhoFailsAndWhoLeads(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := must.Value(NewMetrics(reg, prometheus.NewCounter(prometheus.CounterOpts{Name: "sealed"})))(t)
	expect := func(name string, want map[string]float64) {
		t.Helper()
		families, err := reg.Gather()
		got := map[string]float64{}
		for _, f := range families {
			for _, s := range f.Metric {
				if f.GetName() == name {
					label := ""
					for _, l := range s.Label {
						label += l.GetValue()
					}
					got[label] = s.GetGauge().GetValue()
				}
			}
		}
		for label, value := range want {
			if v, ok := got[label]; !ok {
				err = errors.Join(err, errors.New("no "+name+" of "+label))
			} else if v != value {
				t.Errorf("%s of %q is %v, want %v", name, label, v, value)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Lead()
	name := types.NamespacedName{Namespace: "tenants", Name: "alice"}
	m.set(name, outcome{failures: []v1alpha1.SecretFailure{{Name: "a", Reason: v1alpha1.ReasonSourceMissing}, {Name: "b", Reason: v1alpha1.ReasonSourceMissing}}})
	expect("hostedbridge_keybroker_leader", map[string]float64{"": 1})
	expect("hostedbridge_seal_failing_bridges", map[string]float64{v1alpha1.ReasonSourceMissing: 1, v1alpha1.ReasonSecretsUnreadable: 0})
	m.Reset()
	expect("hostedbridge_keybroker_leader", map[string]float64{"": 0})
	expect("hostedbridge_seal_failing_bridges", map[string]float64{v1alpha1.ReasonSourceMissing: 0})
}
