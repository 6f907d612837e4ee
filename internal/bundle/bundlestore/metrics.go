// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestore

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// How downloads end.
const (
	resultSent    = "sent"
	resultCut     = "cut"
	resultMissing = "missing"
	resultRefused = "refused"
	resultFailed  = "failed"
)

type metrics struct {
	fetches *prometheus.CounterVec
}

func newMetrics() metrics {
	m := metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_store_bundle_fetches_total",
		Help: "Downloads of bundles by how they ended: sent; cut, where the client left or was too slow; missing; " +
			"refused, where the client left while it waited or waits for too many; failed.",
	}, []string{"result"})}
	for _, result := range []string{resultSent, resultCut, resultMissing, resultRefused, resultFailed} {
		telemetry.Begin(m.fetches, result)
	}
	return m
}

// RegisterMetrics registers the store's metrics.
func (s *Store) RegisterMetrics(reg prometheus.Registerer) error {
	return telemetry.Register(reg, s.metrics.fetches,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_store_bundles",
			Help: "Bundles that the store has.",
		}, func() float64 { return float64(len(s.observed().Bundles)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_store_bundle_bytes",
			Help: "Bytes that bundles, their records and uploads take on the volume.",
		}, func() float64 { return float64(s.observed().Bytes) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_store_bundle_limit_bytes",
			Help: "The most bytes that they may take.",
		}, func() float64 { return float64(s.config.MaxTotal) }))
}

// observed is the inventory, empty if the volume cannot be read.
func (s *Store) observed() bundle.Inventory {
	found, err := s.inventory()
	if err != nil {
		return bundle.Inventory{}
	}
	return found
}
