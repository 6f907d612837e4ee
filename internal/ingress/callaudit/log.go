// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// Log writes the audit entries of all requests, and knows whether they can
// be written.
type Log struct {
	sink   Sink
	hasher *audit.Hasher
	// say logs what is the installation's trouble and no request's.
	say func(level slog.Level, text string, attrs ...slog.Attr)
	// failing is set from a write that failed to the next that did not. Calls
	// are not forwarded meanwhile; the entry of their refusal is what finds out
	// that writes go well again.
	failing atomic.Bool
	// stuck counts the writes that have not returned in time. While there are
	// some, no other is begun: the output takes nothing.
	stuck atomic.Int64
	// Timeout is how long a call waits for its entry to be written.
	Timeout time.Duration
	// extra is what bridges may tell of calls beyond those that a request has.
	extra *unrequested

	unread   *unreadRefusals
	entries  *prometheus.CounterVec
	trailers *prometheus.CounterVec // what bridges tell
	failures prometheus.Counter
	state    prometheus.GaugeFunc
}

// Sink takes the entries of tool calls. When Write has returned nil, the entry is
// written.
type Sink interface {
	Write(entry audit.Entry) error
}

// Options are what a Log stands on.
type Options struct {
	Sink Sink
	// Hasher hides addresses and sessions in entries.
	Hasher  *audit.Hasher
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// New returns a Log.
func New(o Options) (*Log, error) {
	t := &Log{sink: o.Sink, hasher: o.Hasher, unread: newUnread(), Timeout: auditTimeout, extra: newUnrequested()}
	t.say = func(level slog.Level, text string, attrs ...slog.Attr) {
		o.Log.LogAttrs(context.Background(), level, text, attrs...) //nolint:forbidigo // There is no request that it belongs to.
	}
	t.entries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_entries_total",
		Help: "Audit entries written, by status and by the reporter of the call: bridge, or ingress if the bridge did not report it.",
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
	t.trailers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_trailers_total",
		Help: "Answers whose bridge told of its calls, by result: read, or invalid if it was not in the form that bridges write.",
	}, []string{"result"})
	telemetry.Begin(t.trailers, "read", "invalid")
	if err := telemetry.Register(o.Metrics, t.trailers, t.entries, t.failures, t.state, t.unread.dropped, t.extra.ignored); err != nil {
		return nil, err
	}
	return t, nil
}

// write writes an entry, or returns problems.AuditAway.
func (l *Log) write(e audit.Entry) error {
	if err := l.writeInTime(e); err != nil {
		l.failures.Inc()
		if !l.failing.Swap(true) {
			l.say(slog.LevelError, "audit entries cannot be written; tool calls are refused", slog.String("error", err.Error()))
		}
		return fmt.Errorf("%w: %w", problems.AuditAway, err)
	}
	l.entries.WithLabelValues(string(e.Status), string(e.ReportedBy)).Inc()
	if l.failing.Load() && l.failing.Swap(false) {
		l.say(slog.LevelInfo, "audit entries can be written again")
	}
	return nil
}

// auditTimeout is how long a call waits for its entry to be written. A disk that
// is slow takes a second; standard output that nobody reads takes for ever.
const auditTimeout = 10 * time.Second

var errAuditStuck = errors.New("an entry has been on its way for too long")

// writeInTime has the sink write e, and gives up on it after a while. The entry
// may be written later all the same.
func (l *Log) writeInTime(e audit.Entry) error {
	if l.stuck.Load() > 0 {
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
				l.stuck.Add(-1)
			}
			written <- err
		}()
		err = l.sink.Write(e)
	}()
	timer := time.NewTimer(l.Timeout)
	defer timer.Stop()
	select {
	case err := <-written:
		return err
	case <-timer.C:
	}
	l.stuck.Add(1)
	if !state.CompareAndSwap(waits, left) {
		l.stuck.Add(-1)
		return <-written
	}
	return errAuditStuck
}

// Stuck is how many writes have not returned in time.
func (l *Log) Stuck() int64 { return l.stuck.Load() }
