// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// Outcomes of a fetch.
const (
	outcomeGood   = "good"
	outcomeFailed = "failed"
)

// metrics are those of the configured issuers.
type metrics struct {
	fetches *prometheus.CounterVec
	last    *prometheus.GaugeVec
}

func newMetrics() *metrics {
	return &metrics{
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_oauth_keys_fetches_total",
			Help: "Fetches of the keys that access tokens are verified by, by issuer and outcome: good or failed.",
		}, []string{"issuer", "outcome"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_oauth_keys_last_timestamp_seconds",
			Help: "When the last good fetch of an issuer's keys began, in seconds since 1970; 0 for never since the start.",
		}, []string{"issuer"}),
	}
}

// begin gives an issuer its series.
func (m *metrics) begin(issuer string) {
	m.fetches.WithLabelValues(issuer, outcomeGood)
	m.fetches.WithLabelValues(issuer, outcomeFailed)
	m.last.WithLabelValues(issuer)
}

func (m *metrics) fetched(issuer string, began time.Time, err error) {
	if err != nil {
		m.fetches.WithLabelValues(issuer, outcomeFailed).Inc()
		return
	}
	m.fetches.WithLabelValues(issuer, outcomeGood).Inc()
	m.last.WithLabelValues(issuer).Set(float64(began.UnixMilli()) / 1000)
}

// Register adds the set's metrics to reg.
func (s *Set) Register(reg prometheus.Registerer) error {
	if err := telemetry.Register(reg, s.metrics.fetches, s.metrics.last); err != nil {
		return fmt.Errorf("keys of issuers: %w", err)
	}
	return nil
}
