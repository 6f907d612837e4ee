// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// metrics are those of requests that wait.
type metrics struct {
	holding prometheus.Gauge
	held    *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		holding: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_requests_held",
			Help: "Requests that wait for a bridge to start.",
		}),
		held: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hostedbridge_ingress_hold_duration_seconds",
			Help:    "How long requests waited for a bridge to start, by outcome: released, refused or canceled.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2, 5, 10, 20, 30, 60},
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{"released", "refused", "canceled"} {
		m.held.WithLabelValues(outcome)
	}
	return m, telemetry.Register(reg, m.holding, m.held)
}
