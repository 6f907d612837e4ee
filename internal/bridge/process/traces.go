// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/otlp"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// lastSpans is how long the end of the process waits for the collector of spans.
const lastSpans = 3 * time.Second

// StartTraces returns the tracer that the environment asks for, nil for none,
// and what sends its last spans.
func StartTraces(ctx context.Context) (trace.Tracer, func(), error) {
	tracer, shutdown, err := otlp.Start(ctx, otlp.Source{
		Service: "hosted-bridge", Version: version.String(), Package: "github.com/hostedbridge/hostedbridge/internal/bridge",
	}, os.Getenv)
	if err != nil || shutdown == nil {
		return nil, func() {}, err
	}
	return tracer, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		// That nobody takes them is not the bridge's failure.
		_ = shutdown(ctx)
	}, nil
}
