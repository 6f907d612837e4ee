// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends a bridge's spans to where OpenTelemetry's environment
// variables say. It is apart from the bridge, which knows only the interface:
// a program that does not trace runs nothing of it.
package otlp

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Configured reports whether OpenTelemetry's variables name somebody who takes
// spans over HTTP, and do not switch them off.
func Configured(getenv func(string) string) bool {
	if getenv("OTEL_SDK_DISABLED") == "true" || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Start returns the tracer of a bridge of that version, whose spans go out in
// the background, and what sends the rest of them and ends it. How, and how
// many of them, is up to OpenTelemetry's variables. Nobody need be there yet.
func Start(ctx context.Context, version string) (trace.Tracer, func(context.Context) error, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("start the export of traces: %w", err)
	}
	named, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "hosted-bridge"), attribute.String("service.version", version)),
		resource.WithFromEnv(), // which may say otherwise
	)
	if err != nil {
		return nil, nil, fmt.Errorf("describe the source of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(named),
	)
	return provider.Tracer("github.com/hostedbridge/hostedbridge/internal/bridge"), provider.Shutdown, nil
}
