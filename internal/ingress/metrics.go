// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// The values of the route label, and with them the only names by which a
// request's target reaches metrics and logs.
const (
	routeMCP     = "mcp"
	routeSSE     = "sse"
	routeHealth  = "health"
	routeSecrets = "secrets"
	routeAdmin   = "admin"
	routeCatalog = "catalog"
	routeLogin   = "login"
	routeOther   = "other"
)

// statusClientClosed stands in metrics and logs for a client that left before
// it was answered. It is never sent.
const statusClientClosed = 499

// routeOf returns the route label of a raw request target.
func (s *Server) routeOf(target string) string {
	route := routeOf(target)
	if route != routeOther {
		return route
	}
	switch path, _, _, of := s.partTarget(target); {
	case of == nil:
		return routeOther
	case strings.HasPrefix(path, "/admin/"):
		return routeAdmin
	default:
		return of.route
	}
}

// routeOf returns the route label of a target that is no part's.
func routeOf(target string) string {
	path, ok := cleanTarget(target)
	if !ok {
		return routeOther
	}
	if commonPath(path) || path == anyonePath {
		return routeMCP
	}
	if strings.HasPrefix(path, "/.well-known/") {
		return routeLogin
	}
	if strings.HasPrefix(path, "/admin/") {
		return routeAdmin
	}
	// "", "u", the user, the route, and of a secret its name.
	switch strings.Split(path, "/")[3] {
	case routeMCP:
		return routeMCP
	case routeSSE:
		return routeSSE
	case routeSecrets:
		return routeSecrets
	default:
		return routeHealth
	}
}

// isRPC reports whether r's errors are JSON-RPC errors.
func isRPC(r *http.Request) bool {
	return r.Method == http.MethodPost && recordOf(r.Context()).route == routeMCP
}

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
	if status != statusClientClosed && http.StatusText(status) == "" {
		return "other"
	}
	return strconv.Itoa(status)
}

// metrics are the ingress's own. No label holds a user: their number is
// unbounded.
type metrics struct {
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	undelivered *prometheus.CounterVec
	retries     prometheus.Counter
	holding     prometheus.Gauge
	held        *prometheus.HistogramVec
	audited     *prometheus.CounterVec
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
		undelivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_undelivered_total",
			Help: "Attempts that ended before a byte of the request left: dial (no connection), handshake (the peer did not prove to be the bridge) or send (the connection broke).",
		}, []string{"reason"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_ingress_retries_total",
			Help: "Attempts made after an undelivered one.",
		}),
		holding: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_ingress_requests_held",
			Help: "Requests that wait for a bridge to start.",
		}),
		held: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hostedbridge_ingress_hold_duration_seconds",
			Help:    "How long requests waited for a bridge to start, by outcome: released, refused or canceled.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2, 5, 10, 20, 30, 60},
		}, []string{"outcome"}),
	}
	m.audited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_trailers_total",
		Help: "Answers whose bridge told of its calls, by result: read, or invalid if it was not in the form that bridges write.",
	}, []string{"result"})
	telemetry.Begin(m.undelivered, "dial", "handshake", "send")
	telemetry.Begin(m.audited, "read", "invalid")
	m.requests.WithLabelValues(routeMCP, http.MethodPost, "200")
	m.duration.WithLabelValues(routeMCP, http.MethodPost)
	for _, outcome := range []string{"released", "refused", "canceled"} {
		m.held.WithLabelValues(outcome)
	}
	if err := telemetry.Register(reg, m.requests, m.duration, m.inFlight, m.undelivered, m.retries, m.holding, m.held, m.audited); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) observe(route, method string, status int, elapsed time.Duration) {
	method = methodLabel(method)
	m.requests.WithLabelValues(route, method, codeLabel(status)).Inc()
	m.duration.WithLabelValues(route, method).Observe(elapsed.Seconds())
}
