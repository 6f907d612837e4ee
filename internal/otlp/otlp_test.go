// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env returns what looks up variables.
func env(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestSpansGoWhereTheVariablesSay(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing is set":                 {nil, ""},
		"an endpoint":                    {map[string]string{envEndpoint: "http://x:4318/"}, "http://x:4318/v1/traces"},
		"an endpoint for traces":         {map[string]string{envTraces: "http://y/here", envEndpoint: "http://x"}, "http://y/here"},
		"an endpoint, and no exporter":   {map[string]string{envEndpoint: "http://x", "OTEL_TRACES_EXPORTER": "none"}, ""},
		"an endpoint, and all is off":    {map[string]string{envEndpoint: "http://x", "OTEL_SDK_DISABLED": "true"}, ""},
		"an endpoint for something else": {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := endpointOf(env(tt.env)); got != tt.want {
				t.Errorf("endpoint = %q, want %q", got, tt.want)
			}
		})
	}
	if tracer, stop, err := Start(t.Context(), Source{Service: "hosted-bridge", Version: "1"}, env(nil)); tracer != nil || stop != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tracer, err)
	}
}

func TestWrongVariablesAreRefused(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"an endpoint that is no URL": {envEndpoint: "collector:4317"},
		"headers that are none":      {envEndpoint: "http://x", envHeaders: "canary"},
		"a value that is malformed":  {envEndpoint: "http://x", envHeaders: "a=canary%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Start(t.Context(), Source{Service: "hosted-bridge", Version: "1"}, env(variables))
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestSpansReachTheCollector(t *testing.T) {
	type got struct {
		path, key string
		body      request
	}
	requests := make(chan got, 4)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		g := got{path: r.URL.Path, key: r.Header.Get("X-Key") + r.Header.Get("Content-Type")}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &g.body) != nil {
			t.Errorf("body = %s, %v", body, err)
		}
		requests <- g
	}))
	defer collector.Close()
	tracer, stop, err := Start(t.Context(), Source{"hosted-bridge", "1.2.3", "here"}, env(map[string]string{envEndpoint: collector.URL, envHeaders: "X-Key=a%20b, "}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, parent := tracer.Start(t.Context(), "tools/call search", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("mcp.method.name", "tools/call"), attribute.String("empty", ""), attribute.Int("n", 7)))
	_, child := tracer.Start(ctx, "tools/call search", trace.WithSpanKind(trace.SpanKindClient))
	child.SetStatus(codes.Error, "not said")
	child.End()
	parent.End()
	must.Succeed(t, stop(t.Context()))
	g := <-requests
	if g.path != "/v1/traces" || g.key != "a bapplication/json" || len(g.body.ResourceSpans) != 1 {
		t.Fatalf("request = %+v", g)
	}
	source := map[string]string{}
	for _, a := range g.body.ResourceSpans[0].Resource.Attributes {
		source[a.Key] = a.Value.String
	}
	if diff := cmp.Diff(map[string]string{"service.name": "hosted-bridge", "service.version": "1.2.3"}, source); diff != "" {
		t.Error(diff)
	}
	spans := g.body.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 2 {
		t.Fatalf("spans = %+v", spans)
	}
	c, p := spans[0], spans[1]
	if c.ParentID != p.SpanID || c.TraceID != p.TraceID || c.Kind != 3 || p.Kind != 2 || c.Status.Code != 2 || p.Status.Code != 0 ||
		len(p.TraceID) != 32 || len(p.SpanID) != 16 || p.Start > p.End || p.Name != "tools/call search" ||
		!slices.Equal(p.Attributes, []keyValue{{"mcp.method.name", value{String: "tools/call"}}, {"n", value{Int: "7"}}}) ||
		g.body.ResourceSpans[0].ScopeSpans[0].Scope.Name != "here" {
		t.Errorf("spans = %+v", spans)
	}
}

func TestARefusalIsAnError(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer collector.Close()
	e := &exporter{endpoint: collector.URL, header: http.Header{}, client: collector.Client()}
	if err := e.ExportSpans(t.Context(), tracetest.SpanStubs{{Name: "x"}}.Snapshots()); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("error = %v", err)
	}
	if err := e.ExportSpans(t.Context(), nil); err != nil {
		t.Errorf("no spans are an error: %v", err)
	}
}
