// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/sealing"
	"github.com/hostedbridge/hostedbridge/controllers/sharedserver"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// controllers are what the replica that leads runs.
type controllers struct {
	config   *rest.Config
	store    *secretstore.Store
	keys     sealing.Keys
	metrics  *sealing.Metrics
	settings sealing.Settings
	watched  namespaces.Set
	log      *slog.Logger
}

// run works until ctx ends. Each time has a manager of its own: one that was
// stopped cannot be started again, and only who leads holds caches.
func (c *controllers) run(ctx context.Context) error {
	c.metrics.Lead()
	defer c.metrics.Reset()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register types: %w", err)
		}
	}
	config := rest.CopyConfig(c.config)
	// How many requests there are at once is limited by the concurrency, and
	// the API server is fair between its clients.
	config.QPS = -1
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Logger: logr.FromSlogHandler(c.log.Handler()),
		Cache:  sealing.CacheOptions(c.settings.Namespace, c.watched), NewCache: namespaces.NewCache(c.watched, c.log),
		// The process has a registry and probes of its own.
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("make the controller manager: %w", err)
	}
	r := &sealing.Reconciler{
		Client: m.GetClient(), Live: m.GetAPIReader(), Store: c.store, Keys: c.keys,
		Recorder: m.GetEventRecorder(leaseName), Metrics: c.metrics, Clock: clock.RealClock{}, Settings: c.settings,
	}
	if err := r.Setup(ctx, m); err != nil {
		return err
	}
	shared := &sharedserver.Reconciler{Client: m.GetClient(), Store: c.store, Keys: c.keys, Clock: clock.RealClock{}, Namespace: c.settings.Namespace}
	if err := shared.Setup(m); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run controllers: %w", err)
	}
	return nil
}

// currentKey is the master key as the controller knows it.
type currentKey struct{ *masterkey.Source }

// Current implements sealing.Keys.
func (k currentKey) Current() envelope.KeyID { return k.Keys().Current() }

// Minimum implements sealing.Keys.
func (k currentKey) Minimum() uint32 { return k.Status().Minimum }
