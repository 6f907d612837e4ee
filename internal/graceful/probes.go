// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package graceful

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Readiness is the answer to /readyz.
type Readiness struct {
	// Check reports whether the process can serve.
	Check    func() bool
	draining atomic.Bool
}

// Ready reports whether the process accepts new connections.
func (r *Readiness) Ready() bool { return !r.draining.Load() && r.Check() }

// Gauge returns the same answer as a metric: a process that is not ready is
// scraped like any other, so a successful scrape does not show that it is
// ready.
func (r *Readiness) Gauge(component string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_" + component + "_ready",
		Help: "1 while this process takes calls, 0 while it cannot yet or is ending.",
	}, func() float64 {
		if r.Ready() {
			return 1
		}
		return 0
	})
}

// NewProbes returns the server for the cluster, on a listener that no user
// reaches: /healthz, /readyz and /metrics.
func NewProbes(ready *Readiness, metrics prometheus.Gatherer, log *slog.Logger) *http.Server {
	mux := http.NewServeMux()
	// The process is live as long as it answers: a restart does not repair
	// other systems.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	errorLog := slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: errorLog}))
	return &http.Server{
		Handler: mux, ErrorLog: errorLog,
		// Kubelet and Prometheus send small requests at once.
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
}
