// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTracesAreExportedOnlyWhereSomebodyTakesThem(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing is set":                 {nil, false},
		"an endpoint":                    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, true},
		"an endpoint for traces alone":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, true},
		"an endpoint, and no exporter":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, false},
		"an endpoint, and all is off":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, false},
		"an endpoint for something else": {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Configured(func(key string) string { return tt.env[key] }); got != tt.want {
				t.Errorf("configured = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSpansReachTheEndpoint(t *testing.T) {
	bodies := make(chan []byte, 4)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- append([]byte(r.URL.Path+"\n"), body...)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, stop, err := Start(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Start(t.Context(), "tools/call search")
	span.End()
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-bodies
	for _, part := range []string{"/v1/traces\n", "tools/call search", "hosted-bridge", "1.2.3"} {
		if !bytes.Contains(got, []byte(part)) {
			t.Errorf("no %q in %q", part, got)
		}
	}
}
