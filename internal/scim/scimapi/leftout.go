// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// Metrics are those of SCIM.
type Metrics struct{ leftOut *prometheus.CounterVec }

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_scim_left_out_total",
		Help: "Parts of requests of directories that had no effect, by reason: attributes that are not known, groups and ids that are no user's among members, users without externalId, and what would have refused a request that takes access away, by the scimType of that error.",
	}, []string{"reason"})}
	for _, reason := range scim.Reasons {
		m.leftOut.WithLabelValues(reason)
	}
	if err := reg.Register(m.leftOut); err != nil {
		return nil, fmt.Errorf("register the metrics of SCIM: %w", err)
	}
	return m, nil
}

// leftOut notes what of a change had no effect. Names and values of the request may be
// personal, and are not in the log.
func (x *exchange) leftOut(id string, left scim.LeftOut) {
	if len(left) == 0 {
		return
	}
	for reason, n := range left {
		x.metrics.leftOut.WithLabelValues(reason).Add(float64(n))
	}
	x.log.InfoContext(x.call.Request().Context(), "parts of a directory's request had no effect",
		slog.String("directory", x.directory.Name), slog.String("id", id), slog.Any("parts", left))
}
