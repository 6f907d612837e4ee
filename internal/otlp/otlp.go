// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlp exports a program's spans to the endpoint in OpenTelemetry's environment variables,
// by OTLP over HTTP in its JSON encoding. The code that creates spans knows only the interface: a
// program without tracing runs nothing of this package.
//
// OpenTelemetry's own exporter uses protobuf. Linking it, with the gRPC code that it needs, takes
// 4.5 MB of an idle bridge's memory; the other parts of OpenTelemetry, which are used here, take
// less than one.
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

// timeout limits one request: OpenTelemetry's default.
const timeout = 10 * time.Second

// The supported variables, in addition to those of OpenTelemetry's SDK.
const (
	envEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTraces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
)

// Source identifies the program that creates the spans.
type Source struct {
	// Service and Version are the program's name and version. The environment can replace the
	// name. An empty version is left out.
	Service, Version string
	// Package is the Go package that creates the spans.
	Package string
}

// Start returns the tracer of source, which exports spans in the background, and the function that
// exports the remaining spans and ends it. Both are nil if the variables name no endpoint. The
// endpoint need not be reachable yet.
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
		resource.WithFromEnv(), // the environment takes precedence
	)
	if err != nil {
		return nil, nil, fmt.Errorf("describe the source of traces: %w", err)
	}
	e := &exporter{endpoint: endpoint, header: header, client: &http.Client{Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(named))
	return provider.Tracer(source.Package), provider.Shutdown, nil
}

// endpointOf returns the URL for spans, or an empty string.
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

// headersOf parses "name=value,name=value" with percent-encoded values. Its errors contain none of
// the text, because a value may be a token.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be reused
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
