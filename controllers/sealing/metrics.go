// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// unknownKey stands for the key of an envelope that is too damaged to name its
// key.
const unknownKey = "unknown"

// Metrics are the controller's. They remain when this process stops leading,
// and no label names a bridge.
type Metrics struct {
	rewrapped prometheus.Counter
	sealed    prometheus.Counter
	errors    prometheus.Counter
	leads     prometheus.Gauge
	envelopes *prometheus.Desc
	failing   *prometheus.Desc

	mu      sync.Mutex
	bridges map[types.NamespacedName]seen
}

// seen is the last finding about a bridge.
type seen struct {
	keys map[envelope.KeyID]int
	// failures are the first reasons why its secrets are not sealed.
	failures map[string]bool
}

// failureReasons are the reasons of failures, so that each has a series from
// the start.
var failureReasons = []string{
	v1alpha1.ReasonSourceMissing, v1alpha1.ReasonSourceInvalid,
	v1alpha1.ReasonSecretsUnreadable, v1alpha1.ReasonTierLimitExceeded,
}

// NewMetrics registers the controller's metrics. sealed counts the values that
// were sealed from Secrets.
func NewMetrics(registry prometheus.Registerer, sealed prometheus.Counter) (*Metrics, error) {
	m := &Metrics{
		rewrapped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_rewrapped_total",
			Help: "Envelopes rewrapped under another version of the master key.",
		}),
		sealed: sealed,
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_seal_errors_total",
			Help: "Attempts to bring a bridge's sealed secrets in line that failed and are tried again, mostly for the API server's sake.",
		}),
		leads: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_keybroker_leader",
			Help: "1 in the replica that seals from Secrets and rewraps, 0 in the others.",
		}),
		envelopes: prometheus.NewDesc("hostedbridge_envelopes",
			"Envelopes of all bridges by the key that they are wrapped under, as the leader sees it; others report none.",
			[]string{"key"}, nil),
		failing: prometheus.NewDesc("hostedbridge_seal_failing_bridges",
			"Bridges of which a secret could not be sealed or opened, by reason, as the leader sees it; others report 0.",
			[]string{"reason"}, nil),
		bridges: map[types.NamespacedName]seen{},
	}
	if err := telemetry.Register(registry, m.rewrapped, m.errors, m.leads, m); err != nil {
		return nil, err
	}
	return m, nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.envelopes
	ch <- m.failing
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	keys, failures := m.totals()
	for reason, n := range failures {
		ch <- prometheus.MustNewConstMetric(m.failing, prometheus.GaugeValue, float64(n), reason)
	}
	for key, n := range keys {
		label := unknownKey
		if key != (envelope.KeyID{}) {
			label = key.String()
		}
		ch <- prometheus.MustNewConstMetric(m.envelopes, prometheus.GaugeValue, float64(n), label)
	}
}

func (m *Metrics) totals() (keys map[envelope.KeyID]int, failures map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, failures = map[envelope.KeyID]int{}, map[string]int{}
	for _, reason := range failureReasons {
		failures[reason] = 0
	}
	for _, b := range m.bridges {
		for key, n := range b.keys {
			keys[key] += n
		}
		for reason := range b.failures {
			failures[reason]++
		}
	}
	return keys, failures
}

// Lead notes that this process leads from now on, until Reset.
func (m *Metrics) Lead() { m.leads.Set(1) }

// Reset removes the findings of the time in which this process led.
func (m *Metrics) Reset() {
	m.leads.Set(0)
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.bridges)
}

func (m *Metrics) set(bridge types.NamespacedName, out outcome) {
	m.sealed.Add(float64(out.sealed))
	m.rewrapped.Add(float64(out.rewrapped))
	b := seen{keys: map[envelope.KeyID]int{}, failures: map[string]bool{}}
	for _, e := range out.listing.Entries {
		b.keys[e.Key]++
	}
	for _, f := range out.failures {
		b.failures[f.Reason] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bridges[bridge] = b
}

func (m *Metrics) forget(bridge types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.bridges, bridge)
}
