// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// The outcomes of runs.
const (
	outcomeDone   = "done"
	outcomeFailed = "failed"
)

// broken stands beside the kinds of changes.
const broken = "broken"

// metrics are those of one seeder. Dry runs are not counted.
type metrics struct {
	runs    *prometheus.CounterVec
	last    *prometheus.GaugeVec
	recipes *prometheus.GaugeVec
}

func newMetrics() *metrics {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_catalog_seed_runs_total",
			Help: "Runs that brought the catalog in line with its source, or failed to, by outcome.",
		}, []string{"outcome"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_catalog_seed_last_timestamp_seconds",
			Help: "When the last run of an outcome ended, in seconds since 1970; 0 for never since the start.",
		}, []string{"outcome"}),
		recipes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_catalog_seed_recipes",
			Help: "Recipes of the last run that was done, by what it did with them.",
		}, []string{"change"}),
	}
	for _, outcome := range []string{outcomeDone, outcomeFailed} {
		m.runs.WithLabelValues(outcome)
		m.last.WithLabelValues(outcome)
	}
	return m
}

func (m *metrics) observe(r catalog.SeedReport, err error, now time.Time) {
	outcome := outcomeDone
	if err != nil {
		outcome = outcomeFailed
	}
	m.runs.WithLabelValues(outcome).Inc()
	m.last.WithLabelValues(outcome).Set(float64(now.Unix()))
	if err != nil {
		return
	}
	for _, kind := range []catalog.ChangeKind{catalog.Create, catalog.Update, catalog.Deprecate, catalog.None} {
		m.recipes.WithLabelValues(string(kind)).Set(float64(r.Counts[kind]))
	}
	m.recipes.WithLabelValues(broken).Set(float64(len(r.Broken)))
}

// Register adds the seeder's metrics to reg.
func (s *Seeder) Register(reg prometheus.Registerer) error {
	return telemetry.Register(reg, s.m.runs, s.m.last, s.m.recipes)
}
