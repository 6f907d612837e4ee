// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// routeOther is the route label of requests that match no route.
const routeOther = "other"

// metrics are the keybroker's own. Labels have few values: routes, statuses
// and the problems' codes; no bridge and no user.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	issued   *prometheus.CounterVec
	opens    *prometheus.CounterVec
	// unreadable counts secrets, not requests.
	unreadable prometheus.Counter
	sealed     *prometheus.CounterVec
	// signed counts access tokens. Its label names the few processes that
	// request them; the keybroker keeps nothing about the users.
	signed prometheus.Counter
}

// The author of a sealed value, as the label of a metric.
const (
	byUser   = "user"
	byBridge = "bridge"
	bySource = "source"
	byOwner  = "owner"
)

func newMetrics(reg prometheus.Registerer, master MasterKey) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_requests_total",
			Help: "Requests by route, status code and, when they were refused, the answer's stable code.",
		}, []string{"route", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hostedbridge_keybroker_request_duration_seconds",
			Help: "Time from a request's header to its answer.",
			// From a refusal (below 1 ms) and four reads of the API server to
			// the time limit.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hostedbridge_keybroker_requests_in_flight",
			Help: "Requests being served, those included that wait for a turn.",
		}),
		issued: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_certificates_issued_total",
			Help: "Certificates issued, by the kind of their holder: bridge, bundler, ingress or store.",
		}, []string{"kind"}),
		opens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_opens_total",
			Help: "Bridges' requests for their secrets, by result: opened, unchanged, unreadable if one or more did not open, or failed.",
		}, []string{"result"}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_unreadable_secrets_total",
			Help: "Secrets that did not open when their bridge asked for them.",
		}),
		sealed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_sealed_total",
			Help: "Values sealed, by where they came from: the user, the bridge that refreshed a login, a source in spec.secretRefs, or an owner of a SharedServer.",
		}, []string{"by"}),
		signed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hostedbridge_keybroker_login_signatures_total",
			Help: "Access tokens signed for the ingress's authorization server.",
		}),
	}
	telemetry.Begin(m.issued, "bridge", "ingress", "store")
	telemetry.Begin(m.opens, "opened", "unchanged", "unreadable", "failed")
	telemetry.Begin(m.sealed, byUser, byBridge, bySource, byOwner)
	current := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_keybroker_master_key_version",
		Help: "Version of the master key that seals, 0 as long as a transit engine was not reached since the start.",
	}, func() float64 { return float64(master.Keys().Current().Version) })
	stale := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_keybroker_master_key_stale",
		Help: "1 while the master key cannot be used as it is now, for example because a version has become another key; the one from before is then in use, and a restart would do without it.",
	}, func() float64 {
		if master.Err() != nil {
			return 1
		}
		return 0
	})
	if err := telemetry.Register(reg, m.requests, m.duration, m.inFlight, m.issued, m.opens, m.unreadable, m.sealed, m.signed, current, stale); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *metrics) observe(route string, status int, reason string, elapsed time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status), reason).Inc()
	m.duration.WithLabelValues(route).Observe(elapsed.Seconds())
}

// opened counts one request of a bridge for its secrets.
func (m *metrics) opened(opened secretstore.Opened, changed bool, err error) {
	result := "opened"
	switch {
	case err != nil:
		result = "failed"
	case !changed:
		result = "unchanged"
	case len(opened.Unreadable) > 0:
		result = "unreadable"
	}
	m.opens.WithLabelValues(result).Inc()
	m.unreadable.Add(float64(len(opened.Unreadable)))
}
