// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"log/slog"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	s, err := New([]Source{{Issuer: "https://login.example.com"}}, Options{Clock: clocktest.New(0), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	reg := metricstest.New()
	must.Succeed(t, s.Register(reg))
	metricstest.Documented(t, "keys of issuers", reg.Metrics())
}
