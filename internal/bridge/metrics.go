// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// measured are the methods whose requests are measured, and no others: a label
// must not be a client's to choose. A listening stream is no operation that
// takes a time.
var measured = map[string]bool{
	methodInitialize: true, methodDiscover: true, methodPing: true, methodSetLevel: true, methodComplete: true,
	methodListTools: true, methodListPrompts: true, methodListResources: true, methodListTemplates: true,
	methodCallTool: true, methodGetPrompt: true, methodReadResource: true, methodSubscribe: true, methodUnsubscribe: true,
}

// metrics are the bridge's. They have no label of a user or a tool.
type metrics struct {
	once       sync.Once
	operations *prometheus.HistogramVec
}

// histogram returns the one of OpenTelemetry's mcp.server.operation.duration,
// in Prometheus' spelling, with the bounds that its convention names.
func (m *metrics) histogram() *prometheus.HistogramVec {
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
	m.histogram().WithLabelValues(method, string(outcome), server).Observe(d.Seconds())
}

var (
	sessionsDesc = prometheus.NewDesc("hostedbridge_bridge_sessions", "Clients' sessions.", nil, nil)
	linksDesc    = prometheus.NewDesc("hostedbridge_bridge_links", "Connections to the server.", []string{"server"}, nil)
	parkedDesc   = prometheus.NewDesc("hostedbridge_bridge_parked_calls", "Calls that wait for what a client was asked.", nil, nil)
	breakerDesc  = prometheus.NewDesc("hostedbridge_bridge_breaker_state", "Whether calls to the server are made: 0 yes, 1 one as a trial, 2 no.", []string{"server"}, nil)
	cacheDesc    = prometheus.NewDesc("hostedbridge_bridge_cache_bytes", "Memory that kept results take.", nil, nil)
)

// gauges are what is read when somebody asks.
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
	sessions := len(b.sessions)
	b.mu.Unlock()
	gauge(sessionsDesc, sessions)
	gauge(parkedDesc, b.parking.size())
	gauge(cacheDesc, b.policies.cacheBytes())
	for _, u := range b.servers() {
		u.mu.Lock()
		links := len(u.links)
		u.mu.Unlock()
		gauge(linksDesc, links, u.server.Name)
		gauge(breakerDesc, int(b.breakerOf(u)), u.server.Name)
	}
}

func (p *policies) cacheBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cache == nil {
		return 0
	}
	return p.cache.Bytes()
}

// collectors are the bridge's own metrics.
func (b *Bridge) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.policies.metrics.histogram(), gauges{b}}
}

// ServeMetrics answers with the bridge's metrics in Prometheus' text format.
func (b *Bridge) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(b.collectors()...)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}
