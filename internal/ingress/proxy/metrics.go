// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

type metrics struct {
	undelivered *prometheus.CounterVec
	retries     prometheus.Counter
	dormant     prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		undelivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_undelivered_total",
			Help: "Attempts that ended before a byte of the request left: dial (no connection), handshake (the peer did not prove to be the bridge) or send (the connection broke).",
		}, []string{"reason"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_retries_total",
			Help: "Attempts made after an undelivered one.",
		}),
		dormant: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_resting_streams",
			Help: "Streams that are kept open for clients that listen to a bridge that sleeps or is suspended.",
		}),
	}
	telemetry.Begin(m.undelivered, "dial", "handshake", "send")
	if err := telemetry.Register(registerer, m.undelivered, m.retries, m.dormant); err != nil {
		return nil, err
	}
	return m, nil
}
