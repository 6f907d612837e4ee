// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	if _, err := newMetrics(reg, testMaster(t, 1)); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "keybroker", reg.Metrics())
}
