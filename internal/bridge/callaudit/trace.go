// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// Ended ends a span with the status and error kind of its operation.
type Ended func(audit.Status, string)

func nothing(audit.Status, string) {}

// serverSpan starts the span of a client request. Spans hold names and outcomes, never arguments
// or results.
func (a *Trail) serverSpan(ctx context.Context, o *Operation, q *message.Request) (context.Context, Ended) {
	tracer := a.tracer
	if tracer == nil {
		return ctx, nothing
	}
	parent, state := message.TraceContext(q.Header, q.Meta)
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{message.MetaTraceparent: parent, message.MetaTracestate: state})
	ctx, span := tracer.Start(ctx, spanName(o.method, o.tool), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attributes(o.method, o.tool)...),
		trace.WithAttributes(attribute.String("mcp.protocol.version", audit.Name(o.version))))
	return ctx, finish(span)
}

// ClientSpan starts the span of a request to a server and sends its trace context with the
// request. A request without a trace starts one only if traces are exported.
func (a *Trail) ClientSpan(ctx context.Context, q *message.Request, server, tool string) (context.Context, Ended) {
	parent, state := message.TraceContext(q.Header, q.Meta)
	tracer := a.tracer
	if tracer == nil {
		if parent != "" {
			q.SetTrace(message.ChildOf(parent), state)
		}
		return ctx, nothing
	}
	ctx, span := tracer.Start(ctx, spanName(q.Method, tool), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes(q.Method, tool)...),
		trace.WithAttributes(attribute.String("hostedbridge.server", server)))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	q.SetTrace(carrier[message.MetaTraceparent], carrier[message.MetaTracestate])
	return ctx, finish(span)
}

// spanName and attributes follow OpenTelemetry's conventions for MCP.
func spanName(method, tool string) string {
	if tool == "" {
		return method
	}
	return method + " " + audit.Name(tool)
}

func attributes(method, tool string) []attribute.KeyValue {
	found := []attribute.KeyValue{attribute.String("mcp.method.name", method)}
	if tool != "" {
		found = append(found, attribute.String("gen_ai.tool.name", audit.Name(tool)), attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	return found
}

// finish returns the function that ends span.
func finish(span trace.Span) Ended {
	return func(status audit.Status, kind string) {
		switch status {
		case audit.Success, audit.InputRequired:
		case audit.ToolError:
			kind = string(status)
			fallthrough
		default:
			span.SetAttributes(attribute.String("error.type", kind))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
