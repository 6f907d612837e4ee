// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// metrics are those of one index.
type metrics struct {
	indexed  prometheus.Counter
	lost     prometheus.Counter
	purged   prometheus.Counter
	failures prometheus.Counter
	lag      prometheus.GaugeFunc
	open     prometheus.GaugeFunc
}

func newMetrics(lag func() time.Duration, open func() bool) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "hostedbridge_ingress_audit_index_" + name, Help: help})
	}
	return &metrics{
		indexed:  counter("records_total", "Lines of the audit trail that were written to the index, those that were there already included."),
		lost:     counter("lost_total", "Lines that the index will never have: it was away for long, and there is no audit file to read them from."),
		purged:   counter("purged_total", "Entries that were removed from the index because they are no longer kept."),
		failures: counter("failures_total", "Attempts to write to the index that failed."),
		lag: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_audit_index_lag_seconds",
			Help: "For how long the oldest line of the audit trail that the index lacks has been written, 0 when it lacks none.",
		}, func() float64 { return lag().Seconds() }),
		open: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_audit_index_open",
			Help: "1 once the index was reached and has its tables, 0 while it has never been since the start.",
		}, func() float64 {
			if open() {
				return 1
			}
			return 0
		}),
	}
}

// Register adds the index's metrics to reg.
func (x *Index) Register(reg prometheus.Registerer) error {
	return telemetry.Register(reg, x.m.indexed, x.m.lost, x.m.purged, x.m.failures, x.m.lag, x.m.open)
}
