// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/bridgegroup"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeperson"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeprofile"
	"github.com/hostedbridge/hostedbridge/controllers/catalogrecipe"
	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/programbundle"
	"github.com/hostedbridge/hostedbridge/controllers/tenantnamespace"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/cgroup"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// leaseName is also what the operator is called in events.
const leaseName = "hosted-bridge-operator"

// run serves until ctx ends or the lease is lost.
func run(ctx context.Context, o Options, log *slog.Logger) error {
	tiers, err := quota.FromFile(o.TiersFile, os.ReadFile)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	m, err := newManager(config, o, log)
	if err != nil {
		return err
	}
	r := &hostedbridge.Reconciler{
		Client:   m.GetClient(),
		Live:     m.GetAPIReader(),
		Recorder: m.GetEventRecorder(leaseName),
		Clock:    clock.RealClock{},
		Settings: hostedbridge.Settings{
			Settings: bridgeobjects.Settings{
				BridgeImage: o.BridgeImage, KeybrokerURL: o.keybrokerURL(),
				RuntimeImageNode: o.RuntimeImageNode, RuntimeImagePython: o.RuntimeImagePython, ShimImages: o.ShimImages,
				RuntimeEnv: o.RuntimeEnv, RuntimeAuthorities: o.RuntimeAuthorities,
				Egress: o.egress(os.Getenv("KUBERNETES_SERVICE_HOST")), OTLPEndpoint: o.BridgeOTLPEndpoint,
				PriorityClass: o.BridgePriorityClass, LoginURL: o.LoginURL,
				Bundles: bundling.Bundles{Settings: o.bundleSettings()}, BundlesURL: o.Bundles.StoreURL,
			},
			BaseURL:          o.BaseURL,
			Namespace:        o.Namespace,
			Tiers:            tiers,
			CatalogNamespace: o.catalog(),
			MinIdleTimeout:   o.MinIdleTimeout,
			MaxWaking:        o.MaxWaking,
		},
	}
	own := &registrations{Registerer: metrics.Registry}
	defer own.end()
	if err := isolate(m, r, o, own); err != nil {
		return err
	}
	if err := r.Setup(ctx, m); err != nil {
		return err
	}
	if err := telemetry.Register(own, telemetry.BuildInfo("operator"), &hostedbridge.Metrics{Reader: m.GetClient(), Elected: m.Elected(), Now: time.Now}); err != nil {
		return err
	}
	canRun, err := hosting(r.Settings.Settings)
	if err != nil {
		return err
	}
	if err := setUpOthers(ctx, m, o, tiers, canRun); err != nil {
		return err
	}
	if err := errors.Join(setUpOnboarding(m, o, log), setUpBundles(m, o, own)); err != nil {
		return err
	}
	go cgroup.PaceCollector(ctx, m.Elected())
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run controllers: %w", err)
	}
	return nil
}

// setUpOthers adds the controllers of recipes, profiles, people and groups.
func setUpOthers(ctx context.Context, m ctrl.Manager, o Options, tiers quota.Tiers, canRun *resolve.Hosting) error {
	recipes := &catalogrecipe.Reconciler{Client: m.GetClient(), Clock: clock.RealClock{}, Hosting: canRun}
	profiles := &bridgeprofile.Reconciler{
		Client: m.GetClient(), Clock: clock.RealClock{}, Namespace: o.Namespace, CatalogNamespace: o.catalog(), Tiers: tiers,
	}
	persons := &bridgeperson.Reconciler{Client: m.GetClient(), Clock: clock.RealClock{}, Namespace: o.Namespace}
	groups := &bridgegroup.Reconciler{Client: m.GetClient(), Namespace: o.Namespace}
	return errors.Join(recipes.Setup(ctx, m), profiles.Setup(m), persons.Setup(m), groups.Setup(ctx, m))
}

// setUpOnboarding adds what keeps the profile of first logins.
func setUpOnboarding(m ctrl.Manager, o Options, log *slog.Logger) error {
	configured, err := bridgeprofile.ReadOnboardingProfile(o.OnboardingProfile)
	if err != nil {
		return fmt.Errorf("--onboarding-profile: %w", err)
	}
	onboarding := &bridgeprofile.Onboarding{Client: m.GetClient(), Namespace: o.Namespace, Profile: configured, Log: log}
	if err := m.Add(onboarding); err != nil {
		return fmt.Errorf("add the profile of first logins: %w", err)
	}
	return nil
}

// hosting returns what the installation can run.
func hosting(s bridgeobjects.Settings) (*resolve.Hosting, error) {
	rules, err := netguard.New(s.Egress.Allow, s.Egress.Deny, s.Egress.Unrestricted)
	if err != nil {
		return nil, fmt.Errorf("read the rules for addresses: %w", err)
	}
	return &resolve.Hosting{Lacking: s.Lacking(), Egress: rules}, nil
}

// cacheOptions are those of all controllers. Each type has one entry: of two, the cache uses either.
func cacheOptions(o Options) cache.Options {
	options := hostedbridge.CacheOptions(o.Namespace, o.WatchNamespaces)
	maps.Copy(options.ByObject, catalogrecipe.CacheOptions(o.catalog()))
	maps.Copy(options.ByObject, bridgeprofile.CacheOptions(o.Namespace))
	maps.Copy(options.ByObject, bridgegroup.CacheOptions(o.Namespace))
	maps.Copy(options.ByObject, programbundle.CacheOptions(o.Namespace))
	maps.Copy(options.ByObject, tenantnamespace.CacheOptions())
	return options
}

func newManager(config *rest.Config, o Options, log *slog.Logger) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		NewCache:                namespaces.NewCache(o.WatchNamespaces, log),
		Logger:                  logr.FromSlogHandler(log.Handler()),
		Cache:                   cacheOptions(o),
		Metrics:                 metricsserver.Options{BindAddress: o.MetricsListen},
		HealthProbeBindAddress:  o.ProbeListen,
		LeaderElection:          true,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.Namespace,
		// Safe because the process ends as soon as its manager has.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller manager: %w", err)
	}
	// Both only say that the process answers: a replica that waits for the
	// lease is as ready as the one that holds it.
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := m.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return m, nil
}
