// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// record is what one request's steps leave for the access log. It has no
// field that a key, a body, a query or a foreign path could get into. A
// secret's name is here once its user is known, and matches path.go; what a
// bridge tells is bounded by audit.go.
type record struct {
	id       string
	route    string
	user     v1alpha1.UserID
	keyID    string
	subject  string // of a login
	secret   string
	code     string
	err      error
	held     time.Duration
	attempts int
	// calls is what the bridge told of its tool calls.
	calls audit.Trailer
	// trail is where they get their audit entries.
	trail *trail
	// start is when the request's header was there.
	start time.Time
	// traceID is the trace to which the request belongs, in hexadecimal, empty
	// for none. It is known after authenticate.
	traceID string
	// span is nil while the request has none.
	span trace.Span
	// call is what serves the request.
	call *openCall
}

// by notes who calls.
func (r *record) by(p principal) {
	r.user, r.keyID = p.user, p.keyID
	if p.grant != nil {
		r.subject = p.grant.subject.String()
	}
}

// fail notes how the request ended. The cause is kept only where it is ours
// to look into: what a caller did wrong is told by the code.
func (r *record) fail(p *problem, err error) {
	r.code = p.code
	if p.status >= http.StatusInternalServerError {
		r.err = err
	}
}

// recordOf returns the request's record.
func recordOf(ctx context.Context) *record {
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		return r
	}
	return &record{}
}

// observe is the outermost step: it gives the request an id and a record, and
// when it has ended, however it did, counts and logs it.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		all := &served{record: record{id: newRequestID(), route: s.routeOf(r.RequestURI), start: start}}
		rec, a := &all.record, &all.call.answer
		all.ctx = recordContext{r.Context(), rec}
		ctx, cancel := context.WithCancelCause(&all.ctx)
		rec.call, a.ResponseWriter = &all.call, w
		rec.call.method, rec.call.record, rec.call.cancel = r.Method, rec, cancel
		setBaseHeader(w.Header(), rec.id)
		s.setDeadlines(w, r)
		if len(r.TransferEncoding) > 0 {
			// A body in chunks may have come with a length too, which net/http
			// does not tell: who went by that has another idea of where the next
			// request begins, so that none may follow.
			w.Header().Set("Connection", "close")
		}
		s.metrics.inFlight.Inc()
		s.calls.open(rec.call)
		completed := false
		defer func() {
			s.calls.end(rec.call)
			cancel(nil)
			s.metrics.inFlight.Dec()
			elapsed := time.Since(start)
			s.metrics.observe(rec.route, r.Method, a.code(), elapsed)
			rec.endSpan(a.code())
			s.logAccess(r, rec, a, elapsed, completed)
		}()
		next.ServeHTTP(a, r.WithContext(ctx)) //nolint:contextcheck // It is the request's own with its record.
		completed = true
	})
}

// setDeadlines gives a body its time to come, whether or not anybody reads it: before an answer leaves, net/http itself reads what is unread. The
// write deadline of an earlier refusal on the connection is taken off. Writers
// without deadlines are those of tests.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(s.config.BodyTimeout))
	}
	_ = control.SetWriteDeadline(time.Time{})
}

func (s *Server) logAccess(r *http.Request, rec *record, a *answer, elapsed time.Duration, completed bool) {
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs,
		slog.String("requestID", rec.id), slog.String("route", rec.route),
		slog.String("method", methodLabel(r.Method)), slog.Int("status", a.code()),
		slog.Duration("duration", elapsed), slog.Int64("bytes", a.bytes),
		slog.String("protocol", r.Proto), slog.String("remote", remoteOf(s.source(r))))
	attrs = append(attrs, rec.caller()...)
	if rec.secret != "" {
		attrs = append(attrs, slog.String("secret", rec.secret))
	}
	if rec.code != "" {
		attrs = append(attrs, slog.String("code", rec.code))
	}
	if rec.held > 0 {
		attrs = append(attrs, slog.Duration("held", rec.held))
	}
	if rec.attempts > 1 {
		attrs = append(attrs, slog.Int("attempts", rec.attempts))
	}
	if rec.traceID != "" {
		attrs = append(attrs, slog.String("traceID", rec.traceID))
	}
	attrs = append(attrs, callAttrs(rec.calls)...)
	if !completed {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	if rec.err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error", rec.err.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// caller returns who called, as far as that is known.
func (r *record) caller() []slog.Attr {
	switch {
	case r.user == "":
		return nil
	case r.subject != "":
		return []slog.Attr{slog.String("user", string(r.user)), slog.String("subject", r.subject)}
	default:
		return []slog.Attr{slog.String("user", string(r.user)), slog.String("keyID", r.keyID)}
	}
}

// newRequestID returns an id to find a request by. A caller's own id is not
// taken over: it could point at somebody else's request.
func newRequestID() string {
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) //nolint:gosec // It guards nothing.
}

// remoteOf is a client's address, empty where it has none.
func remoteOf(source netip.Addr) string {
	if !source.IsValid() {
		return ""
	}
	return source.String()
}
