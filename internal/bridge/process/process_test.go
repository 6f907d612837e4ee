// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/cgroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEndOfAServerIsNoError(t *testing.T) {
	if err := IgnoreClosed(fmt.Errorf("serve: %w", http.ErrServerClosed), "serve clients"); err != nil {
		t.Errorf("a server that was closed failed with %v", err)
	}
	if err := IgnoreClosed(io.ErrUnexpectedEOF, "serve clients"); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "serve clients: ") {
		t.Errorf("a server that broke failed with %v", err)
	}
}

// TestGosOwnVariablesDecide what the process takes.
func TestGosOwnVariablesDecide(t *testing.T) { // It changes the process.
	before := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "7")
	t.Setenv("GOGC", "50")
	SpareMemory(t.Context(), func() uint64 { return 0 }) // It returns at once.
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("the process runs %d threads, had %d", now, before)
	}
	if cgroup.MemoryLimit() > 0 {
		return // The container's limit comes first.
	}
	t.Setenv("GOMEMLIMIT", "")
	if n := UsableMemory(); n != 0 {
		t.Errorf("without a limit %d bytes can be used", n)
	}
	t.Setenv("GOMEMLIMIT", "300MiB")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(300 << 20))
	if n := UsableMemory(); n != 400<<20 {
		t.Errorf("with a limit of 300 MiB for Go %d bytes can be used", n)
	}
}

// TestSpansAreSentWhenTheProcessEnds to who the environment names, and to nobody else.
func TestSpansAreSentWhenTheProcessEnds(t *testing.T) { // It changes the environment.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	if tracer, stop, err := StartTraces(t.Context()); tracer != nil || err != nil {
		t.Errorf("without a name the tracer is %v, %v", tracer, err)
	} else {
		stop()
	}
	sent := make(chan string, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r.URL.Path }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, stop, err := StartTraces(t.Context())
	if err != nil || tracer == nil {
		t.Fatalf("the tracer is %v, %v", tracer, err)
	}
	_, span := tracer.Start(t.Context(), "call")
	span.End()
	stop()
	if path := <-sent; path != "/v1/traces" {
		t.Errorf("the spans are sent to %s", path)
	}
}
