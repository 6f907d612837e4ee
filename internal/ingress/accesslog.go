// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// observer says what happened to requests: in the access log, in metrics and in
// traces.
type observer struct {
	log     *slog.Logger
	metrics *metrics
	tracer  trace.Tracer // nil where there are no traces
}

// begin counts a request that begins.
func (o *observer) begin() { o.metrics.inFlight.Inc() }

// end counts and logs a request that has ended. completed is whether its handler
// returned.
func (o *observer) end(r *request, completed bool) {
	o.metrics.inFlight.Dec()
	elapsed := time.Since(r.start)
	status := r.Status()
	o.metrics.observe(r.route, r.http.Method, status, elapsed)
	r.endSpan(status)
	o.logAccess(r, elapsed, completed)
}

func (o *observer) logAccess(r *request, elapsed time.Duration, completed bool) {
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs,
		slog.String("requestID", r.id), slog.String("route", r.route),
		slog.String("method", methodLabel(r.http.Method)), slog.Int("status", r.Status()),
		slog.Duration("duration", elapsed), slog.Int64("bytes", r.Bytes()),
		slog.String("protocol", r.http.Proto), slog.String("remote", remoteOf(r.source)))
	attrs = append(attrs, r.callerAttrs()...)
	if r.secret != "" {
		attrs = append(attrs, slog.String("secret", r.secret))
	}
	if r.code != "" {
		attrs = append(attrs, slog.String("code", r.code))
	}
	if r.held > 0 {
		attrs = append(attrs, slog.Duration("held", r.held))
	}
	if r.attempts > 1 {
		attrs = append(attrs, slog.Int("attempts", r.attempts))
	}
	if r.traceID != "" {
		attrs = append(attrs, slog.String("traceID", r.traceID))
	}
	attrs = append(attrs, callAttrs(r.audit.Told())...)
	if !completed {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	if r.err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error", r.err.Error()))
	}
	o.log.LogAttrs(r.context(), level, "request", attrs...)
}

// callerAttrs returns the attributes of the caller, none while it is unknown.
func (r *request) callerAttrs() []slog.Attr {
	p := r.caller
	switch {
	case p.User == "":
		return nil
	case p.ByToken():
		return []slog.Attr{slog.String("user", string(p.User)), slog.String("subject", p.Subject())}
	default:
		return []slog.Attr{slog.String("user", string(p.User)), slog.String("keyID", p.KeyID)}
	}
}

// remoteOf is a client's address, empty where it has none.
func remoteOf(source netip.Addr) string {
	if !source.IsValid() {
		return ""
	}
	return source.String()
}

// maxShown is how much of a name is logged, in bytes. Servers name their tools
// as they like; those that clients take have at most 128.
const maxShown = 128

// callAttrs returns what the access log says of the calls of a request: how many
// there were, and of the first that failed, or else of the first, where it went
// and how it ended. However many there are, it is one line of the same length.
func callAttrs(told audit.Trailer) []slog.Attr {
	if len(told.Calls) == 0 {
		return nil
	}
	shown := told.Calls[0]
	return []slog.Attr{
		slog.Int("calls", len(told.Calls)+told.Dropped),
		slog.String("server", printable(shown.Server)), slog.String("tool", printable(shown.Tool)),
		slog.String("callStatus", printable(string(shown.Status))),
	}
}

// printable returns a name in printable ASCII, others escaped, and not longer
// than maxShown.
func printable(name string) string {
	quoted := strconv.QuoteToASCII(name[:min(len(name), maxShown)])
	quoted = quoted[1 : len(quoted)-1]
	return quoted[:min(len(quoted), maxShown)]
}
