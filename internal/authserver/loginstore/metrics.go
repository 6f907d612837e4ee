// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// op is what the store was asked for.
type op string

const (
	opPut    op = "put"
	opGet    op = "get"
	opTake   op = "take"
	opSwap   op = "swap"
	opDelete op = "delete"
	opTrim   op = "trim"
)

// The outcomes. Refused is an answer: there was such an entry, or none.
const (
	outcomeDone    = "done"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// metrics are the store's.
type metrics struct {
	operations *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	purged     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_store_operations_total",
			Help: "What the login store was asked for, by how that ended: done, refused where there was such an entry or none, failed where the store is away.",
		}, []string{"op", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hostedbridge_ingress_login_store_duration_seconds",
			Help: "Time that logins waited for the login store.",
			// From a store in the same rack to the time limit, 5 s.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"op"}),
		purged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_login_store_purged_total",
			Help: "Entries that were removed from the login store because they were over.",
		}),
	}
	for _, o := range []op{opPut, opGet, opTake, opSwap, opDelete, opTrim} {
		for _, outcome := range []string{outcomeDone, outcomeRefused, outcomeFailed} {
			m.operations.WithLabelValues(string(o), outcome)
		}
	}
	if err := telemetry.Register(reg, m.operations, m.duration, m.purged); err != nil {
		return nil, fmt.Errorf("login store: %w", err)
	}
	return m, nil
}

func (m *metrics) ended(o op, took time.Duration, err error) {
	outcome := outcomeDone
	switch {
	case err == nil:
	case refused(err):
		outcome = outcomeRefused
	default:
		outcome = outcomeFailed
	}
	m.operations.WithLabelValues(string(o), outcome).Inc()
	m.duration.WithLabelValues(string(o)).Observe(took.Seconds())
}
