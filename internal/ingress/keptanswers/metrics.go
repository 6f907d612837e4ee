// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keptanswers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// What comes of answers.
const (
	resultGiven     = "given"
	resultMissing   = "missing"
	resultFailed    = "failed"
	resultKept      = "kept"
	resultUnchanged = "unchanged"
	resultDropped   = "dropped"
)

type metrics struct{ given, kept *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		given: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_kept_answers_total",
			Help: "First requests and lists of bridges that sleep or start, by what came of their kept answers: given; missing; failed, where the store did not answer.",
		}, []string{"result"}),
		kept: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_recorded_answers_total",
			Help: "Answers of bridges to first requests and lists that may be kept, by what came of them: kept; unchanged; dropped, because they are too large, pages or too many; failed, where the store did not take them.",
		}, []string{"result"}),
	}
	telemetry.Begin(m.given, resultGiven, resultMissing, resultFailed)
	telemetry.Begin(m.kept, resultKept, resultUnchanged, resultDropped, resultFailed)
	return m, telemetry.Register(reg, m.given, m.kept)
}
