// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// unknownKey stands for the key of an envelope that is damaged so much that it
// does not say.
const unknownKey = "unknown"

// Metrics are the controller's. They outlive the times in which this process
// leads, and no label names a bridge.
type Metrics struct {
	rewrapped prometheus.Counter
	sealed    prometheus.Counter
	envelopes *prometheus.Desc

	mu      sync.Mutex
	bridges map[types.NamespacedName]map[envelope.KeyID]int
}

// NewMetrics registers the controller's metrics. sealed counts the values that
// were sealed from Secrets.
func NewMetrics(registry prometheus.Registerer, sealed prometheus.Counter) (*Metrics, error) {
	m := &Metrics{
		rewrapped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_rewrapped_total",
			Help: "Envelopes wrapped anew under another version of the master key.",
		}),
		sealed: sealed,
		envelopes: prometheus.NewDesc("hostedbridge_envelopes",
			"Envelopes of all bridges by the key that they are wrapped under, as the leader sees it; others report none.",
			[]string{"key"}, nil),
		bridges: map[types.NamespacedName]map[envelope.KeyID]int{},
	}
	if err := telemetry.Register(registry, m.rewrapped, m); err != nil {
		return nil, err
	}
	return m, nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.envelopes }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for key, n := range m.totals() {
		label := unknownKey
		if key != (envelope.KeyID{}) {
			label = key.String()
		}
		ch <- prometheus.MustNewConstMetric(m.envelopes, prometheus.GaugeValue, float64(n), label)
	}
}

func (m *Metrics) totals() map[envelope.KeyID]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	totals := map[envelope.KeyID]int{}
	for _, keys := range m.bridges {
		for key, n := range keys {
			totals[key] += n
		}
	}
	return totals
}

// Reset forgets what this process saw while it led.
func (m *Metrics) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.bridges)
}

func (m *Metrics) set(bridge types.NamespacedName, out outcome) {
	m.sealed.Add(float64(out.sealed))
	m.rewrapped.Add(float64(out.rewrapped))
	keys := map[envelope.KeyID]int{}
	for _, e := range out.listing.Entries {
		keys[e.Key]++
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bridges[bridge] = keys
}

func (m *Metrics) forget(bridge types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bridges, bridge)
}
