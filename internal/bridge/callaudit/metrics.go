// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// measured are the methods with metrics. The list is fixed because clients must not choose the
// values of a label. A listening stream is left out: its duration means nothing.
var measured = map[string]bool{
	message.MethodInitialize: true, message.MethodDiscover: true, message.MethodPing: true, message.MethodSetLevel: true, message.MethodComplete: true,
	message.MethodListTools: true, message.MethodListPrompts: true, message.MethodListResources: true, message.MethodListTemplates: true,
	message.MethodCallTool: true, message.MethodGetPrompt: true, message.MethodReadResource: true, message.MethodSubscribe: true, message.MethodUnsubscribe: true,
}

// metrics are the bridge's metrics. None has a label of a user or a tool.
type metrics struct {
	once       sync.Once
	operations *prometheus.HistogramVec
}

// Histogram returns OpenTelemetry's mcp.server.operation.duration under its Prometheus name, with
// the buckets of the convention.
func (m *metrics) Histogram() *prometheus.HistogramVec {
	m.once.Do(func() {
		m.operations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mcp_server_operation_duration_seconds",
			Help:    "How long clients' requests took, by method, outcome and the server that answered.",
			Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300},
		}, []string{"mcp_method_name", "outcome", "server"})
	})
	return m.operations
}

func (m *metrics) observe(method string, outcome audit.Status, server string, d time.Duration) {
	m.Histogram().WithLabelValues(method, string(outcome), server).Observe(d.Seconds())
}
