// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
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
		spans        int // of the bridge; 0 if it exports none
	}{
		"in the metadata":             {"", `"_meta":{"traceparent":"` + theirTrace + `","tracestate":"a=b"}`, true, 0},
		"in the header":               {theirTrace, `"_meta":{}`, true, 0},
		"in the header, exported":     {theirTrace, `"_meta":{}`, true, 2},
		"none":                        {"", `"_meta":{}`, false, 0},
		"malformed":                   {"00-xyz", `"_meta":{}`, false, 0},
		"of zeros":                    {"00-00000000000000000000000000000000-b7ad6b7169203331-01", `"_meta":{}`, false, 0},
		"more than a header may have": {theirTrace + "-x", `"_meta":{}`, false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answer: same(done)}
			var o Options
			exporter := tracetest.NewInMemoryExporter()
			if tt.spans > 0 {
				o.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
			}
			r := newPolicyRig(t, o, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
			header := r.session(t)
			if tt.header != "" {
				header["Traceparent"], header["Tracestate"] = tt.header, "a=b"
			}
			before := len(exporter.GetSpans()) // of the session's beginning
			r.callRaw(t, header, `"name":"t",`+tt.meta)
			if got := len(exporter.GetSpans()) - before; got != tt.spans {
				t.Errorf("the call has %d spans, want %d", got, tt.spans)
			}
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
