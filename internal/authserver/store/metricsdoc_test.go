// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	if _, err := newMetrics(reg); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "login store", reg.Metrics())
}
