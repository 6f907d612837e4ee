// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	files, store := library()
	s, _, _ := testSeeder(t, files, store)
	must.Succeed(t, s.Register(reg))
	metricstest.Documented(t, "catalog seed", reg.Metrics())
}
