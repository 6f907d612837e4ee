// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsSayWhichBuildThisIs(t *testing.T) {
	metrics := promhttp.HandlerFor(NewRegistry("gate"), promhttp.HandlerOpts{})
	w := httptest.NewRecorder()
	metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`hostedbridge_build_info{component="gate",`, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestLoggerTakesTheFourLevelsOnly(t *testing.T) {
	for _, test := range []struct {
		level string
		lines int // Of one per level.
	}{{"debug", 4}, {"info", 3}, {"WARN", 2}, {"error", 1}, {"", 0}, {"verbose", 0}} {
		var out bytes.Buffer
		log, err := NewLogger(&out, test.level)
		if (err == nil) != (test.lines > 0) {
			t.Errorf("level %q: error %v", test.level, err)
		}
		if err != nil {
			continue
		}
		for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			log.Log(t.Context(), l, "said", "secret", false)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != test.lines {
			t.Errorf("level %q writes %d lines, want %d", test.level, got, test.lines)
		}
	}
}

func TestCollectorsAreRegisteredOrTheFirstThatDoesNotFitIsTold(t *testing.T) {
	named := func(name string) prometheus.Collector {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name})
	}
	r := prometheus.NewRegistry()
	must.Succeed(t, Register(r, named("one"), named("two")))
	if err := Register(r, named("three"), named("two"), named("four")); err == nil {
		t.Error("the same collector twice is no error")
	}
	families := must.Value(r.Gather())(t)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	if diff := cmp.Diff([]string{"one", "three", "two"}, names); diff != "" {
		t.Error(diff)
	}
}
