// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"log/slog"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	b := New(t.Context(), mcpserver.Config{}, Options{Log: slog.New(slog.DiscardHandler)})
	defer b.Close()
	reg := metricstest.New()
	reg.MustRegister(b.collectors()...)
	metricstest.Documented(t, "bridge", reg.Metrics())
}
