// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	must.Value(newMetrics(reg, testMaster(t, 1)))(t)
	metricstest.Documented(t, "keybroker", reg.Metrics())
}

func TestAMasterKeyThatIsNotTheOneInUseShows(t *testing.T) {
	for err, want := range map[error]float64{nil: 0, errors.New("another ring"): 1} {
		reg, key := prometheus.NewRegistry(), testMaster(t, 1)
		key.err = err
		must.Value(newMetrics(reg, key))(t)
		families := must.Value(reg.Gather())(t)
		got := -1.0
		for _, family := range families {
			if family.GetName() == "hostedbridge_keybroker_master_key_stale" {
				got = family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		if got != want {
			t.Errorf("with the error %v it is %v, want %v", err, got, want)
		}
	}
}
