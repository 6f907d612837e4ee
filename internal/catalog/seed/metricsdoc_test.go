// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	files, store := library()
	s, _, _ := testSeeder(t, files, store)
	if err := s.Register(reg); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "catalog seed", reg.Metrics())
}
