// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// The values of the route label, and with them the only names by which a
// request's target reaches metrics and logs.
const (
	routeMCP     = "mcp"
	routeSSE     = "sse"
	routeHealth  = "health"
	routeSecrets = "secrets"
	routeSelf    = "self"
	routeAdmin   = "admin"
	routeCatalog = "catalog"
	routeLogin   = "login"
	routeOther   = "other"
)

// methodLabel keeps the method label to the methods that routes have.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// codeLabel keeps the code label to the registered statuses: a tenant's bridge
// may answer with any number.
func codeLabel(status int) string {
	if status != inflight.StatusClientClosed && http.StatusText(status) == "" {
		return "other"
	}
	return strconv.Itoa(status)
}

// metrics are the ingress's own. No label holds a user: their number is
// unbounded.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_requests_total",
			Help: "Requests by route, method and status code; 499 is a client that left unanswered.",
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hostedbridge_ingress_request_duration_seconds",
			Help: "Time from a request's header to the end of its answer, streams included.",
			// From a refusal (below 1 ms) over a tool call to a stream.
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_requests_in_flight",
			Help: "Requests being served, open streams included.",
		}),
	}
	m.requests.WithLabelValues(routeMCP, http.MethodPost, "200")
	m.duration.WithLabelValues(routeMCP, http.MethodPost)
	if err := telemetry.Register(reg, m.requests, m.duration, m.inFlight); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) observe(route, method string, status int, elapsed time.Duration) {
	method = methodLabel(method)
	m.requests.WithLabelValues(route, method, codeLabel(status)).Inc()
	m.duration.WithLabelValues(route, method).Observe(elapsed.Seconds())
}
