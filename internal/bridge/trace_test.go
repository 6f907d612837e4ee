// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	traceID    = "0af7651916cd43dd8448eb211c80319c"
	theirTrace = "00-" + traceID + "-b7ad6b7169203331-01"
)

// traceSeen returns the trace context that the server was called with: that of
// the metadata and that of the header.
func (s *script) traceSeen(t *testing.T) (meta, state, header string) {
	t.Helper()
	m := s.last(t, methods.CallTool)
	var p struct {
		Meta map[string]any `json:"_meta"`
	}
	must.Succeed(t, json.Unmarshal(m.Params, &p))
	meta, _ = p.Meta["traceparent"].(string)
	state, _ = p.Meta["tracestate"].(string)
	return meta, state, m.header.Get("Traceparent")
}

// TestATraceIsPassedOn calls with a trace in all ways that it can come.
func TestATraceIsPassedOn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header, meta string
		passed       bool
	}{
		"in the metadata":             {"", `"_meta":{"traceparent":"` + theirTrace + `","tracestate":"a=b"}`, true},
		"in the header":               {theirTrace, `"_meta":{}`, true},
		"none":                        {"", `"_meta":{}`, false},
		"malformed":                   {"00-xyz", `"_meta":{}`, false},
		"of zeros":                    {"00-00000000000000000000000000000000-b7ad6b7169203331-01", `"_meta":{}`, false},
		"more than a header may have": {theirTrace + "-x", `"_meta":{}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: same(done)}
			r := newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{s.serve(t)}})
			header := r.session(t)
			if tt.header != "" {
				header["Traceparent"], header["Tracestate"] = tt.header, "a=b"
			}
			r.callRaw(t, header, `"name":"t",`+tt.meta)
			meta, state, sent := s.traceSeen(t)
			if !tt.passed {
				if meta != "" || sent != "" {
					t.Errorf("the server is called with the trace %q, header %q", meta, sent)
				}
				return
			}
			if !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`).MatchString(meta) || meta != sent || !strings.HasPrefix(meta, "00-"+traceID+"-") || !strings.HasSuffix(meta, "-01") || state != "a=b" {
				t.Errorf("the server is called with the trace %q, %q, header %q", meta, state, sent)
			}
			if meta == theirTrace {
				t.Error("the server is called as the client's own span")
			}
		})
	}
}

// TestSpansNameWhatRanAndNotWhatWasSaid exports the spans of a call that fails.
func TestSpansNameWhatRanAndNotWhatWasSaid(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	s := &script{answer: same(`{"isError":true,"content":[{"type":"text","text":"` + canary + `"}]}`)}
	r := newPolicyRig(t, Options{Tracer: provider.Tracer("test")}, mcpserver.Config{Servers: []mcpserver.Server{s.serve(t)}})
	header := modernHeader(methods.CallTool, "t")
	header["Traceparent"] = theirTrace
	r.callRaw(t, header, `"name":"t","arguments":{"a":"`+canary+`"}`)
	var server, client tracetest.SpanStub
	for _, span := range exporter.GetSpans() {
		switch span.SpanKind {
		case trace.SpanKindServer:
			server = span
		case trace.SpanKindClient:
			client = span
		}
		if strings.Contains(fmt.Sprintf("%+v", span), canary) {
			t.Errorf("a span has a value: %+v", span)
		}
	}
	if server.Name != "tools/call t" || client.Name != "tools/call t" || server.SpanContext.TraceID().String() != traceID ||
		server.Parent.SpanID().String() != "b7ad6b7169203331" || client.Parent.SpanID() != server.SpanContext.SpanID() {
		t.Errorf("spans = %+v and %+v", server, client)
	}
	attributes := map[string]string{}
	for _, a := range append(server.Attributes, client.Attributes...) {
		attributes[string(a.Key)] = a.Value.AsString()
	}
	for key, want := range map[string]string{
		"mcp.method.name": methods.CallTool, "gen_ai.tool.name": "t", "gen_ai.operation.name": "execute_tool",
		"mcp.protocol.version": "2026-07-28", "error.type": "tool_error", "hostedbridge.server": "one",
	} {
		if attributes[key] != want {
			t.Errorf("attribute %s = %q, want %q", key, attributes[key], want)
		}
	}
	meta, _, sent := s.traceSeen(t)
	if want := client.SpanContext.SpanID().String(); !strings.Contains(meta, want) || meta != sent {
		t.Errorf("the server is called with the trace %q, header %q, want span %s", meta, sent, want)
	}
}
