// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var (
	sessionsDesc = prometheus.NewDesc("hostedbridge_bridge_sessions", "Clients' sessions.", nil, nil)
	linksDesc    = prometheus.NewDesc("hostedbridge_bridge_links", "Connections to the server.", []string{"server"}, nil)
	parkedDesc   = prometheus.NewDesc("hostedbridge_bridge_parked_calls", "Calls that wait for what a client was asked.", nil, nil)
	breakerDesc  = prometheus.NewDesc("hostedbridge_bridge_breaker_state", "Whether calls to the server are made: 0 yes, 1 one as a trial, 2 no.", []string{"server"}, nil)
	cacheDesc    = prometheus.NewDesc("hostedbridge_bridge_cache_bytes", "Memory that kept results take.", nil, nil)
)

// gauges are metrics that are read when Prometheus collects them.
type gauges struct{ bridge *Bridge }

// Describe implements prometheus.Collector.
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sessionsDesc, linksDesc, parkedDesc, breakerDesc, cacheDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	b := g.bridge
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	b.mu.Lock()
	sessions := len(b.clients.sessions)
	b.mu.Unlock()
	gauge(sessionsDesc, sessions)
	gauge(parkedDesc, b.delivery.suspended.Len())
	gauge(cacheDesc, b.pipeline.Policies.CacheBytes())
	for _, u := range b.set.servers() {
		gauge(linksDesc, u.Connections(), u.Config.Name)
		gauge(breakerDesc, int(b.pipeline.BreakerState(u)), u.Config.Name)
	}
}

// collectors are the bridge's own metrics.
func (b *Bridge) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.audit.Metrics.Histogram(), gauges{b}}
}

// ServeMetrics answers with the bridge's metrics in Prometheus' text format.
func (b *Bridge) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(b.collectors()...)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
