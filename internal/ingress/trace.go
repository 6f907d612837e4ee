// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The names of the headers of W3C Trace Context.
const (
	headerTraceparent = "Traceparent"
	headerTracestate  = "Tracestate"
)

// spanRoutes are what spans call the routes: what a user or a secret is called
// is not in them.
var spanRoutes = map[string]string{
	routeMCP:     "/u/:userId/mcp",
	routeSSE:     "/u/:userId/sse",
	routeHealth:  "/u/:userId/health",
	routeSecrets: "/u/:userId/secrets",
}

// trace begins the request's span, as a part of the trace that the client
// names, and has the bridge go on with it. It comes after authenticate, so that
// nobody without a key fills what collects traces.
func (s *Server) trace(c *gin.Context) {
	r, rec := c.Request, recordOf(c.Request.Context())
	ctx := r.Context()
	if len(r.Header[headerTraceparent]) == 1 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
		rec.traceID = parent.TraceID().String()
	}
	if s.tracer == nil {
		return
	}
	route, method := spanRoutes[rec.route], methodLabel(r.Method)
	ctx, rec.span = s.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(rec.start),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	rec.traceID = rec.span.SpanContext().TraceID().String()
	if len(r.Header[headerTraceparent]) > 1 {
		return // It is refused for that later, and must not be mended here.
	}
	r.Header.Del(headerTracestate)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
}

// endSpan tells how the request ended: nothing of what it held.
func (r *record) endSpan(status int) {
	if r.span == nil {
		return
	}
	r.span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.Int("hostedbridge.attempts", r.attempts),
		attribute.Int64("hostedbridge.held_ms", r.held.Milliseconds()))
	if r.code != "" {
		r.span.SetAttributes(attribute.String("error.type", r.code))
	}
	if status >= http.StatusInternalServerError {
		r.span.SetStatus(codes.Error, "")
	}
	r.span.End()
}
