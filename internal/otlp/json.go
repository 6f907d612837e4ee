// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The types follow OTLP's JSON encoding (OTLP 1.x, section "JSON Protobuf Encoding"): ids in
// hexadecimal, 64-bit numbers as strings.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   described    `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	described struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		State      string     `json:"traceState,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     status     `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String string `json:"stringValue,omitempty"`
		Int    string `json:"intValue,omitempty"`
	}
)

// requestOf returns the request with spans, all of one source. Attributes are strings and
// integers; others are converted to strings, and empty ones are left out.
func requestOf(spans []sdktrace.ReadOnlySpan) request {
	out := scopeSpans{Scope: scope{Name: spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		out.Spans = append(out.Spans, spanOf(s))
	}
	return request{ResourceSpans: []resourceSpans{{
		Resource:   described{Attributes: attributesOf(spans[0].Resource().Attributes())},
		ScopeSpans: []scopeSpans{out},
	}}}
}

func spanOf(s sdktrace.ReadOnlySpan) span {
	c := s.SpanContext()
	out := span{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), State: c.TraceState().String(), Flags: uint32(c.TraceFlags()),
		Name: s.Name(), Kind: int(s.SpanKind()), // The kinds have the same numbers.
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: attributesOf(s.Attributes()),
	}
	if s.Parent().HasSpanID() {
		out.ParentID = s.Parent().SpanID().String()
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status.Code = 2
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributesOf(attributes []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(attributes))
	for _, a := range attributes {
		v := value{String: a.Value.String()}
		if a.Value.Type() == attribute.INT64 {
			v = value{Int: v.String}
		}
		if v != (value{}) {
			out = append(out, keyValue{Key: string(a.Key), Value: v})
		}
	}
	return out
}
