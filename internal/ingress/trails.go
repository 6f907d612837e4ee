// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// trails writes the audit entries of all requests, and knows whether they can
// be written.
type trails struct {
	sink   AuditTrail
	hasher *audit.Hasher
	// say logs what is the installation's trouble and no request's.
	say func(level slog.Level, text string, attrs ...slog.Attr)
	// failing is set from a write that failed to the next that did not. Calls
	// are not forwarded meanwhile; the entry of their refusal is what finds out
	// that writes go well again.
	failing atomic.Bool
	// extra is what bridges may tell of calls beyond those that a request has.
	extra *extra

	unread   *unreadRefusals
	entries  *prometheus.CounterVec
	failures prometheus.Counter
	state    prometheus.GaugeFunc
}

func newTrails(deps Deps) (*trails, error) {
	t := &trails{sink: deps.Audit, hasher: deps.Hasher, unread: newUnread(), extra: newExtra()}
	t.say = func(level slog.Level, text string, attrs ...slog.Attr) {
		deps.Log.LogAttrs(context.Background(), level, text, attrs...) //nolint:forbidigo // There is no request that it belongs to.
	}
	t.entries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_entries_total",
		Help: "Audit entries written, by status and by who reported the call: bridge, or ingress where the bridge said nothing.",
	}, []string{"status", "reported_by"})
	t.failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_failures_total",
		Help: "Audit entries that could not be written.",
	})
	t.state = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_ingress_audit_failing",
		Help: "1 while audit entries cannot be written and tool calls are refused for it.",
	}, func() float64 {
		if t.failing.Load() {
			return 1
		}
		return 0
	})
	for _, c := range []prometheus.Collector{t.entries, t.failures, t.state, t.unread.dropped, t.extra.ignored} {
		if err := deps.Metrics.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return t, nil
}

// write writes an entry, or returns errAuditAway.
func (t *trails) write(e audit.Entry) error {
	if err := t.sink.Write(e); err != nil {
		t.failures.Inc()
		if !t.failing.Swap(true) {
			t.say(slog.LevelError, "audit entries cannot be written; tool calls are refused", slog.String("error", err.Error()))
		}
		return fmt.Errorf("%w: %w", errAuditAway, err)
	}
	t.entries.WithLabelValues(string(e.Status), string(e.ReportedBy)).Inc()
	if t.failing.Load() && t.failing.Swap(false) {
		t.say(slog.LevelInfo, "audit entries can be written again")
	}
	return nil
}
