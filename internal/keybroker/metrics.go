// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// routeOther is the route label of requests that meet no route.
const routeOther = "other"

// metrics are the keybroker's own. Labels have few values: routes, statuses
// and the problems' codes; no bridge and no user.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	issued   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, ring *Ring) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_requests_total",
			Help: "Requests by route, status code and, when they were refused, the answer's stable code.",
		}, []string{"route", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hostedbridge_keybroker_request_duration_seconds",
			Help: "Time from a request's header to its answer.",
			// From a refusal (below 1 ms) over four reads of the API server to
			// its time limit.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_keybroker_requests_in_flight",
			Help: "Requests being served, those included that wait for a turn.",
		}),
		issued: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_certificates_issued_total",
			Help: "Certificates issued, by the kind of their holder: bridge or ingress.",
		}, []string{"kind"}),
	}
	current := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hostedbridge_keybroker_master_key_version",
		Help: "Version of the master key that seals.",
	})
	loaded := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hostedbridge_keybroker_master_key_versions",
		Help: "How many versions of the master key are loaded.",
	})
	current.Set(float64(ring.envelopes.Current().Version))
	loaded.Set(float64(len(ring.versions)))
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.issued, current, loaded} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(route string, status int, reason string, elapsed time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status), reason).Inc()
	m.duration.WithLabelValues(route).Observe(elapsed.Seconds())
}
