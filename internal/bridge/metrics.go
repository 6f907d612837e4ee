// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"io"
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
)

// ServeMetrics answers with the bridge's metrics in Prometheus' text format. They are not made by
// client_golang, as those of the other processes are: it links the runtime of protocol buffers,
// two megabytes of a program that runs once per user.
func (b *Bridge) ServeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	gauge(w, "hostedbridge_bridge_sessions", "Clients' sessions.", len(b.clients.allSessions()))
	gauge(w, "hostedbridge_bridge_parked_calls", "Calls that wait for what a client was asked.", b.delivery.suspended.Len())
	gauge(w, "hostedbridge_bridge_cache_bytes", "Memory that kept results take.", b.pipeline.Policies.CacheBytes())
	servers := b.set.servers()
	gauges(w, "hostedbridge_bridge_links", "Connections to the server.", servers, (*upstream.Server).Connections)
	gauges(w, "hostedbridge_bridge_breaker_state", "Whether calls to the server are made: 0 yes, 1 one as a trial, 2 no.", servers,
		func(u *upstream.Server) int { return int(b.pipeline.BreakerState(u)) })
	b.audit.Metrics.Write(w)
	metrics.WriteProcessMetrics(w)
}

func gauge(w io.Writer, name, help string, value int) {
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s gauge\n%[1]s %[3]d\n", name, help, value)
}

// gauges writes a gauge of each server.
func gauges(w io.Writer, name, help string, servers []*upstream.Server, value func(*upstream.Server) int) {
	if len(servers) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
	for _, u := range servers {
		_, _ = fmt.Fprintf(w, "%s{server=%q} %d\n", name, u.Config.Name, value(u))
	}
}
