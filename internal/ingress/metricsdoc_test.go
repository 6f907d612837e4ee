// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	w := &world{t: t, routes: newFakeRoutes(), registry: prometheus.NewRegistry()}
	kept, err := keptanswers.New(keptanswers.Options{Metrics: reg})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(defaults(), Deps{
		Routes: w.routes, Bridges: bridgeclient.New(w, 8443), Activity: &fakeActivity{}, Features: featuresOf(w, newFakeSecrets()), Quotas: w.quotas(), Tiers: testTiers, Audit: &fakeAudit{}, Hasher: testHasher(t),
		AdminKey: func() []byte { return []byte(adminKey) },
		Kept:     kept,
		Metrics:  reg, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "ingress", reg.Metrics())
}

func TestMetricsOfEveryProcessAreDocumented(t *testing.T) {
	reg := metricstest.New()
	if err := telemetry.Register(reg, telemetry.BuildInfo("ingress")); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "every process", reg.Metrics())
}

func TestMetricsOfReadinessAreDocumented(t *testing.T) {
	reg := metricstest.New()
	ready := &graceful.Readiness{Check: func() bool { return true }}
	if err := telemetry.Register(reg, ready.Gauge("ingress"), ready.Gauge("keybroker"), ready.Gauge("store")); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "readiness", reg.Metrics())
}
