// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

const (
	// metaTraceparent and metaTracestate are the keys of _meta for what the W3C
	// trace context says in headers.
	metaTraceparent = "traceparent"
	metaTracestate  = "tracestate"

	headerTracestate = "Tracestate"
)

// traceparent is a trace context of version 00 (W3C Trace Context, section 3.2).
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceContext returns the trace to which a request belongs, empty for none.
// What the request itself says goes before its header.
func traceContext(header http.Header, meta map[string]any) (parent, state string) {
	parent, _ = meta[metaTraceparent].(string)
	state, _ = meta[metaTracestate].(string)
	if parent == "" {
		parent, state = header.Get(headerTrace), header.Get(headerTracestate)
	}
	if !traceparent.MatchString(parent) || strings.Trim(parent[3:35], "0") == "" || strings.Trim(parent[36:52], "0") == "" {
		return "", ""
	}
	return parent, state
}

// childOf returns the trace context for what is done within parent.
func childOf(parent string) string {
	var span [8]byte
	if _, err := rand.Read(span[:]); err != nil {
		return parent
	}
	return parent[:36] + hex.EncodeToString(span[:]) + parent[52:]
}

// ended is called with how what a span stands for has ended.
type ended func(audit.Status, string)

func nothing(audit.Status, string) {}

// serverSpan begins the span of a client's request. Spans hold names and
// outcomes, never arguments or results.
func (b *Bridge) serverSpan(ctx context.Context, o *operation, req mcp.Request) (context.Context, ended) {
	tracer := b.options.Tracer
	if tracer == nil {
		return ctx, nothing
	}
	var header http.Header
	if extra := req.GetExtra(); extra != nil {
		header = extra.Header
	}
	parent, state := traceContext(header, given(req.GetParams()).GetMeta())
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{metaTraceparent: parent, metaTracestate: state})
	ctx, span := tracer.Start(ctx, spanName(o.method, o.tool), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attributes(o.method, o.tool)...),
		trace.WithAttributes(attribute.String("mcp.protocol.version", audit.Name(o.version))))
	return ctx, finish(span)
}

// clientSpan begins the span of a request to a server and has the request say
// so. A request that came without a trace gets none unless traces are exported.
func (c *call) clientSpan(ctx context.Context, tool string) (context.Context, ended) {
	parent, state := traceContext(c.query.header, c.query.meta)
	tracer := c.bridge.options.Tracer
	if tracer == nil {
		if parent != "" {
			c.passOn(childOf(parent), state)
		}
		return ctx, nothing
	}
	ctx, span := tracer.Start(ctx, spanName(c.query.method, tool), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes(c.query.method, tool)...),
		trace.WithAttributes(attribute.String("hostedbridge.server", c.upstream.server.Name)))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	c.passOn(carrier[metaTraceparent], carrier[metaTracestate])
	return ctx, finish(span)
}

// passOn puts the trace context into the request's metadata.
func (c *call) passOn(parent, state string) {
	if parent == "" {
		return
	}
	// The calls of a batch have one map.
	c.query.meta = maps.Clone(c.query.meta)
	if c.query.meta == nil {
		c.query.meta = map[string]any{}
	}
	c.query.meta[metaTraceparent] = parent
	if state != "" {
		c.query.meta[metaTracestate] = state
	}
}

// traceOf returns the trace context under which the server is called.
func (q *query) traceOf() string {
	parent, _ := traceContext(nil, q.meta)
	return parent
}

// spanName and attributes are those of OpenTelemetry's conventions for MCP.
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

// finish returns what ends span.
func finish(span trace.Span) ended {
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
