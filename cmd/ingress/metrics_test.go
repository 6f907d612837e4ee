// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot/disk"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMetricsAreDocumented(t *testing.T) {
	watcher := must.Value(watch.New(&rest.Config{Host: "127.0.0.1:1"}, nil, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	public := &certificate{}
	public.current.Store(&loaded{pair: tls.Certificate{Leaf: &x509.Certificate{NotAfter: time.Unix(1, 0)}}})
	reg := metricstest.New()
	must.Succeed(t, errors.Join(
		registerOutages(reg, watcher, &disk.Directory{}), public.register(reg),
		registerExpiry(reg, func() time.Time { return time.Time{} }),
	))
	metricstest.Documented(t, "ingress's certificates and routes", reg.Metrics())
}
