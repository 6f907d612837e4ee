// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	clientTrace  = "0af7651916cd43dd8448eb211c80319c"
	clientSpan   = "b7ad6b7169203331"
	clientParent = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// traced is an ingress that traces, with a bridge that answers with the trace
// context that it got.
func traced(t *testing.T) (w *world, alice string, spans *tracetest.InMemoryExporter) {
	t.Helper()
	w, alice = oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		if r.Header.Get("Mcp-Name") == "fail" {
			rw.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = rw.Write([]byte(strings.Join(r.Header["Traceparent"], ",") + " " + strings.Join(r.Header["Tracestate"], ",")))
	})
	spans = tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t.Cleanup(func() { _ = provider.Shutdown(t.Context()) })
	w.server.observer.tracer = provider.Tracer("test")
	return w, alice, spans
}

// oneSpan waits for the span of the one request that there was.
func oneSpan(t *testing.T, spans *tracetest.InMemoryExporter) tracetest.SpanStub {
	t.Helper()
	eventually(t, func() bool { return len(spans.GetSpans()) == 1 })
	defer spans.Reset()
	return spans.GetSpans()[0]
}

func attributesOf(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func TestATraceGoesOnAtTheBridge(t *testing.T) {
	w, alice, spans := traced(t)
	for _, tt := range []struct {
		name, parent, state string
		continued           bool
		wantState           string
	}{
		{"a client's trace", clientParent, "vendor=1", true, "vendor=1"},
		{"a client's trace that is not sampled", "00-" + clientTrace + "-" + clientSpan + "-00", "", true, ""},
		{"none", "", "", false, ""},
		{"one that is none", "00-xyz-1-01", "vendor=1", false, ""},
		{"one of zeros", "00-" + strings.Repeat("0", 32) + "-" + clientSpan + "-01", "vendor=1", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := w.request("POST", "/u/alice/mcp", alice, toolCall)
			if tt.parent != "" {
				r.Header.Set("Traceparent", tt.parent)
				r.Header.Set("Tracestate", tt.state)
			}
			parent, state, _ := strings.Cut(w.do(r).body, " ")
			c := trace.SpanContextFromContext(propagated(t, parent))
			if !c.IsValid() || (c.TraceID().String() == clientTrace) != tt.continued || c.SpanID().String() == clientSpan || state != tt.wantState {
				t.Errorf("the bridge got %q, %q", parent, state)
			}
			if strings.HasSuffix(tt.parent, "-00") {
				if c.IsSampled() || len(spans.GetSpans()) > 0 {
					t.Error("a trace is sampled that its client does not sample")
				}
				return
			}
			s := oneSpan(t, spans)
			if s.SpanContext.SpanID() != c.SpanID() || (s.Parent.SpanID().String() == clientSpan) != tt.continued {
				t.Errorf("the bridge's parent is %s, the span %s of parent %s", c.SpanID(), s.SpanContext.SpanID(), s.Parent.SpanID())
			}
			eventually(t, func() bool { return strings.Contains(w.logs.String(), `"traceID":"`+c.TraceID().String()+`"`) })
		})
	}
}

func TestSpansHaveNoNames(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, spans := traced(t)
		for _, tt := range []struct {
			name   string
			edit   func(*http.Request)
			method string
			path   string
			span   string
			want   map[string]string
			status codes.Code
		}{
			{"a call", func(*http.Request) {}, "POST", "/u/alice/mcp", "POST /u/:userId/mcp", map[string]string{
				"http.request.method": "POST", "http.route": "/u/:userId/mcp", "http.response.status_code": "200",
				"hostedbridge.attempts": "1", "hostedbridge.held_ms": "0"}, codes.Unset},
			{"a bridge's failure", func(r *http.Request) { r.Header.Set("Mcp-Name", "fail") }, "POST", "/u/alice/mcp", "POST /u/:userId/mcp", map[string]string{
				"http.request.method": "POST", "http.route": "/u/:userId/mcp", "http.response.status_code": "500",
				"hostedbridge.attempts": "1", "hostedbridge.held_ms": "0"}, codes.Error},
			{"a secret", func(*http.Request) {}, "GET", "/u/alice/secrets/CANARY", "GET /u/:userId/secrets", map[string]string{
				"http.request.method": "GET", "http.route": "/u/:userId/secrets", "http.response.status_code": "404",
				"hostedbridge.attempts": "0", "hostedbridge.held_ms": "0", "error.type": "secret_not_found"}, codes.Unset},
		} {
			r := w.request(tt.method, tt.path, alice, map[string]string{"POST": toolCall}[tt.method])
			tt.edit(r)
			w.do(r)
			s := oneSpan(t, spans)
			if diff := cmp.Diff(tt.want, attributesOf(s)); diff != "" || s.Name != tt.span || s.Status.Code != tt.status || s.SpanKind != trace.SpanKindServer {
				t.Errorf("%s: %s, %v (-want +got):\n%s", tt.name, s.Name, s.Status, diff)
			}
		}
	})
}

func TestWhoHasNoKeyMakesNoSpans(t *testing.T) {
	w, alice, spans := traced(t)
	for _, r := range []*http.Request{
		w.request("POST", "/u/alice/mcp", "", toolCall),
		w.request("POST", "/u/bob/mcp", alice, toolCall),
		w.request("GET", "/nothing", alice, ""),
	} {
		r.Header.Set("Traceparent", clientParent)
		w.do(r)
	}
	w.do(w.request("GET", "/u/alice/health", alice, ""))
	if s := oneSpan(t, spans); s.Name != "GET /u/:userId/health" {
		t.Errorf("span = %s", s.Name)
	}
}

func TestATraceThatIsSentTwiceIsStillRefused(t *testing.T) {
	w, alice, _ := traced(t)
	r := w.request("GET", "/u/alice/mcp", alice, "")
	r.Header["Traceparent"] = []string{clientParent, clientParent}
	if got := w.do(r); got.status != 400 || !strings.Contains(got.body, "repeated_header") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestWithoutATracerTheClientsTraceIsKnown(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	r := w.request("GET", "/u/alice/mcp", alice, "")
	r.Header.Set("Traceparent", clientParent)
	w.do(r)
	eventually(t, func() bool { return strings.Contains(w.logs.String(), `"traceID":"`+clientTrace+`"`) })
}

// propagated is a context with the trace context of that header.
func propagated(t *testing.T, parent string) context.Context {
	t.Helper()
	return propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier{"traceparent": parent})
}
