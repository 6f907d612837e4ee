// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	must.Value(newMetrics(reg))(t)
	metricstest.Documented(t, "login store", reg.Metrics())
}
