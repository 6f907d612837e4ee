// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// metrics count what happens to requests while they are open.
type metrics struct {
	ended     *prometheus.CounterVec
	keptAlive prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_ended_total",
			Help: "Requests that the ingress ended while they were open, by reason: the code of the problem, or slow_reader.",
		}, []string{"reason"}),
		keptAlive: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_keep_alives_total",
			Help: "Comments that were written into silent event streams.",
		}),
	}
	telemetry.Begin(m.ended, "slow_reader")
	if err := telemetry.Register(reg, m.ended, m.keptAlive); err != nil {
		return nil, err
	}
	return m, nil
}
