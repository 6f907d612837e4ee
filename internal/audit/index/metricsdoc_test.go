// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"log/slog"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	if err := New(new(Store), Config{Log: slog.New(slog.DiscardHandler)}).Register(reg); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "audit index", reg.Metrics())
}
