// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends a program's spans to where OpenTelemetry's environment
// variables say, by OTLP over HTTP in its JSON encoding. It is apart from those
// who make spans, which know only the interface: a program that does not trace
// runs nothing of it.
//
// OpenTelemetry's own exporter speaks protobuf. Merely linking that, and the
// gRPC code that comes with it, takes 4.5 MB of an idle bridge's memory; the
// rest of OpenTelemetry, which is used here, takes less than one.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// timeout is how long one request may take: OpenTelemetry's default.
const timeout = 10 * time.Second

// The variables that are heeded, besides those of OpenTelemetry's SDK.
const (
	envEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTraces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
)

// Source is whose spans they are.
type Source struct {
	// Service and Version are the program's name and version; the environment
	// may name it otherwise. Without a version none is told.
	Service, Version string
	// Package is the Go package that makes the spans.
	Package string
}

// Start returns the tracer of source, whose spans go out in the background,
// and what sends the rest of them and ends it. Both are nil where the
// variables name nobody who takes spans. Nobody need be there yet.
func Start(ctx context.Context, source Source, getenv func(string) string) (trace.Tracer, func(context.Context) error, error) {
	endpoint := endpointOf(getenv)
	if endpoint == "" {
		return nil, nil, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, nil, fmt.Errorf("export traces: %s is not an http or https URL", envEndpoint)
	}
	header, err := headersOf(getenv(envHeaders))
	if err != nil {
		return nil, nil, fmt.Errorf("export traces: %w", err)
	}
	named, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", source.Service), attribute.String("service.version", source.Version)),
		resource.WithFromEnv(), // which may say otherwise
	)
	if err != nil {
		return nil, nil, fmt.Errorf("describe the source of traces: %w", err)
	}
	e := &exporter{endpoint: endpoint, header: header, client: &http.Client{Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(named))
	return provider.Tracer(source.Package), provider.Shutdown, nil
}

// endpointOf returns the URL that takes spans, empty for none.
func endpointOf(getenv func(string) string) string {
	if getenv("OTEL_SDK_DISABLED") == "true" || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return ""
	}
	if own := getenv(envTraces); own != "" {
		return own
	}
	base := getenv(envEndpoint)
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/v1/traces"
}

// headersOf reads "name=value,name=value" with percent-encoded values. Its
// errors repeat nothing, since a value may be a token.
func headersOf(s string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, escaped, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is not a list such as name=value,name=value", envHeaders)
		}
		header.Set(strings.TrimSpace(name), value)
	}
	return header, nil
}

// exporter sends spans to one collector.
type exporter struct {
	endpoint string
	header   http.Header
	client   *http.Client
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(requestOf(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("export spans: %w", err)
	}
	r.Header = e.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(r)
	if err != nil {
		return fmt.Errorf("export spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("export spans: the collector answered %s", resp.Status)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
