// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
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
	// stuck counts the writes that have not returned in time. While there are
	// some, no other is begun: the output takes nothing.
	stuck   atomic.Int64
	timeout time.Duration
	// extra is what bridges may tell of calls beyond those that a request has.
	extra *extra

	unread   *unreadRefusals
	entries  *prometheus.CounterVec
	failures prometheus.Counter
	state    prometheus.GaugeFunc
}

func newTrails(deps Deps) (*trails, error) {
	t := &trails{sink: deps.Audit, hasher: deps.Hasher, unread: newUnread(), timeout: auditTimeout, extra: newExtra()}
	t.say = func(level slog.Level, text string, attrs ...slog.Attr) {
		deps.Log.LogAttrs(context.Background(), level, text, attrs...) //nolint:forbidigo // There is no request that it belongs to.
	}
	t.entries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_entries_total",
		Help: "Audit entries written, by status and by who reported the call: bridge, or ingress where the bridge said nothing.",
	}, []string{"status", "reported_by"})
	for _, status := range []audit.Status{
		audit.Success, audit.ToolError, audit.ProtocolError, audit.Denied, audit.RateLimited,
		audit.UpstreamError, audit.Timeout, audit.Cancelled, audit.InputRequired,
	} {
		t.entries.WithLabelValues(string(status), string(audit.Bridge))
		t.entries.WithLabelValues(string(status), string(audit.Ingress))
	}
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
	if err := telemetry.Register(deps.Metrics, t.entries, t.failures, t.state, t.unread.dropped, t.extra.ignored); err != nil {
		return nil, err
	}
	return t, nil
}

// write writes an entry, or returns errAuditAway.
func (t *trails) write(e audit.Entry) error {
	if err := t.writeInTime(e); err != nil {
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

// auditTimeout is how long a call waits for its entry to be written. A disk that
// is slow takes a second; standard output that nobody reads takes for ever.
const auditTimeout = 10 * time.Second

var errAuditStuck = errors.New("an entry has been on its way for too long")

// writeInTime has the sink write e, and gives up on it after a while. The entry
// may be written later all the same.
func (t *trails) writeInTime(e audit.Entry) error {
	if t.stuck.Load() > 0 {
		return errAuditStuck
	}
	const waits, left, done = 0, 1, 2
	var state atomic.Int32
	written := make(chan error, 1)
	go func() {
		err := errors.New("the sink panicked")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: %v", err, p)
			}
			if !state.CompareAndSwap(waits, done) {
				t.stuck.Add(-1)
			}
			written <- err
		}()
		err = t.sink.Write(e)
	}()
	timer := time.NewTimer(t.timeout)
	defer timer.Stop()
	select {
	case err := <-written:
		return err
	case <-timer.C:
	}
	t.stuck.Add(1)
	if !state.CompareAndSwap(waits, left) {
		t.stuck.Add(-1)
		return <-written
	}
	return errAuditStuck
}
