// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// metrics are the store's. No label holds a user.
type metrics struct {
	decisions *prometheus.CounterVec
	up        prometheus.Gauge
	replicas  prometheus.Gauge
	duration  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, shared bool) (*metrics, error) {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_quota_decisions_total",
			Help: "Calls and streams by the limit that refused them; none for those that went on.",
		}, []string{"limit"}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_quota_store_up",
			Help: "1 while the shared quota store answers, 0 while this replica gives its share of the quotas.",
		}),
		replicas: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_quota_replicas",
			Help: "Replicas among which the quotas are shared while the store is away.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hostedbridge_ingress_quota_store_duration_seconds",
			Help: "Time that calls waited for the shared quota store.",
			// From a store in the same rack to the time limit, 50 ms.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1},
		}),
	}
	for limit := quota.None; limit <= quota.Batch; limit++ {
		telemetry.Begin(m.decisions, limit.String())
	}
	collectors := []prometheus.Collector{m.decisions}
	if shared {
		collectors = append(collectors, m.up, m.replicas, m.duration)
	}
	if err := telemetry.Register(reg, collectors...); err != nil {
		return nil, fmt.Errorf("quota store: %w", err)
	}
	return m, nil
}

func (m *metrics) decided(v quota.Verdict) { m.decisions.WithLabelValues(v.Refused.String()).Inc() }

func (m *metrics) asked(d time.Duration) { m.duration.Observe(d.Seconds()) }
