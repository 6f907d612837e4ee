// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"log/slog"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	must.Succeed(t, New(new(Store), Config{Log: slog.New(slog.DiscardHandler)}).Register(reg))
	metricstest.Documented(t, "audit index", reg.Metrics())
}
