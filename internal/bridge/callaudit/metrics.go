// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"fmt"
	"io"
	"sync"
	"time"

	victoria "github.com/VictoriaMetrics/metrics"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// measured reports whether there are metrics of a method. Methods without a row have none, because
// clients must not choose the values of a label. Neither has a stream: its duration means nothing.
func measured(m *methods.Method) bool { return m.FromClient() && !m.Notification && !m.Stream }

// metrics are the bridge's metrics of requests. None has a label of a user or a tool.
type metrics struct {
	once sync.Once
	set  *victoria.Set
}

// operations is OpenTelemetry's mcp.server.operation.duration under its Prometheus name.
const operations = "mcp_server_operation_duration_seconds"

// buckets are those of OpenTelemetry's convention, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// Write writes the metrics in Prometheus' text format.
func (m *metrics) Write(w io.Writer) {
	histograms := m.histograms()
	if len(histograms.ListMetricNames()) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "# HELP %s How long clients' requests took, by method, outcome and the server that answered.\n# TYPE %[1]s histogram\n", operations)
	histograms.WritePrometheus(w)
}

func (m *metrics) observe(method string, outcome audit.Status, server string, d time.Duration) {
	name := fmt.Sprintf("%s{mcp_method_name=%q,outcome=%q,server=%q}", operations, method, outcome, server)
	m.histograms().GetOrCreatePrometheusHistogramExt(name, buckets).Update(d.Seconds())
}

func (m *metrics) histograms() *victoria.Set {
	m.once.Do(func() { m.set = victoria.NewSet() })
	return m.set
}
