// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	watcher := must.Value(watch.New(&rest.Config{Host: "127.0.0.1:1"}, nil, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	reg := metricstest.New()
	must.Succeed(t, errors.Join(
		registerOutages(reg, watcher, &snapshot.Directory{}),
		registerExpiry(reg, func() time.Time { return time.Time{} }), (&backups{}).register(reg),
	))
	metricstest.Documented(t, "ingress's certificates and routes", reg.Metrics())
}
