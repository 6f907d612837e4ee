// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/otlp"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// lastSpans is how long the end of the process waits for the collector of spans.
const lastSpans = 3 * time.Second

// startTraces returns the tracer of requests, nil where the environment
// names no collector, and what sends the last spans.
func startTraces(ctx context.Context, log *slog.Logger) (trace.Tracer, func(), error) {
	source := otlp.Source{Service: "hosted-bridge-ingress", Version: version.String(), Package: "github.com/hostedbridge/hostedbridge/internal/ingress"}
	tracer, shutdown, err := otlp.Start(ctx, source, os.Getenv)
	if err != nil || shutdown == nil {
		return nil, func() {}, err
	}
	// Spans that no collector takes are lost, and are no request's failure.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.WarnContext(ctx, "traces", "error", err) }))
	return tracer, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			log.WarnContext(ctx, "the last traces were not taken", "error", err)
		}
	}, nil
}
