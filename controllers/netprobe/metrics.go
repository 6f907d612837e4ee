// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netprobe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// results maps each result to the metric's label.
var results = map[bridgestate.Enforcement]string{
	bridgestate.Untried: "untried", bridgestate.Enforced: "enforced",
	bridgestate.NotEnforced: "not_enforced", bridgestate.Undetermined: "unknown",
}

// Metrics are the probe's.
type Metrics struct{ enforcement *prometheus.GaugeVec }

// NewMetrics registers the probe's metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hostedbridge_operator_network_policy_enforcement",
		Help: "1 at what the operator that leads knows of whether network policies are enforced: enforced, not_enforced, unknown, untried.",
	}, []string{"result"})}
	if err := telemetry.Register(registry, m.enforcement); err != nil {
		return nil, err
	}
	m.set(bridgestate.Untried)
	return m, nil
}

func (m *Metrics) set(known bridgestate.Enforcement) {
	if m == nil {
		return
	}
	for e, label := range results {
		value := 0.0
		if e == known {
			value = 1
		}
		m.enforcement.WithLabelValues(label).Set(value)
	}
}
