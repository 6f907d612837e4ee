// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

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
	routeSelf:    "/u/:userId",
}

// trace begins the request's span, as a part of the trace that the client
// names, and has the bridge go on with it. It comes after authenticate, so that
// a caller without a key cannot fill what collects traces.
func (o *observer) trace(r *request) error {
	header, ctx := r.http.Header, r.context()
	if len(header[headerTraceparent]) == 1 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
	}
	if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
		r.traceID = parent.TraceID().String()
	}
	if o.tracer == nil {
		return nil
	}
	route, method := spanRoutes[r.route], methodLabel(r.http.Method)
	ctx, r.span = o.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.start),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	r.traceID = r.span.SpanContext().TraceID().String()
	if len(header[headerTraceparent]) > 1 {
		return nil // It is refused for that later, and must not be mended here.
	}
	header.Del(headerTracestate)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	return nil
}

// endSpan ends the span with how the request ended, and nothing of what it held.
func (r *request) endSpan(status int) {
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
