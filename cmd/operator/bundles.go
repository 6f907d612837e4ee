// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/programbundle"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// maxInstalls is how many packages are installed at the same time: an install takes a core
	// for some seconds.
	maxInstalls = 4
	// bundleRetention is how long a bundle is kept that no HostedBridge uses: longer than a
	// holiday. The store's --bundles-max-bytes bounds what they take meanwhile.
	bundleRetention = 30 * 24 * time.Hour
)

// bundleSettings returns which programs are started from bundles: none without a store, and none of a
// method without an image in which they run.
func (o *Options) bundleSettings() bundling.Settings {
	if o.Bundles.StoreURL == "" {
		return bundling.Settings{}
	}
	return bundling.Settings{
		Architecture: o.Bundles.Architecture, InstallScripts: o.Bundles.InstallScripts, Repository: o.Bundles.Registry,
		Lacking: bridgeobjects.Settings{RuntimeImageNode: o.RuntimeImageNode, RuntimeImagePython: o.RuntimeImagePython}.Lacking(),
	}
}

// setUpBundles adds the controller of bundles. Without a store it makes none, and those that
// there are stay as they are.
func setUpBundles(m ctrl.Manager, o Options, own prometheus.Registerer) error {
	if o.Bundles.StoreURL == "" {
		return nil
	}
	if err := telemetry.Register(own, &programbundle.Metrics{Reader: m.GetClient(), Elected: m.Elected(), Namespace: o.Namespace}); err != nil {
		return err
	}
	bundles := &programbundle.Reconciler{
		Client: m.GetClient(), Live: m.GetAPIReader(), Recorder: m.GetEventRecorder(leaseName), Clock: clock.RealClock{},
		Settings: programbundle.Settings{
			Installing: bridgeobjects.Installing{
				Image: o.RuntimeImageNode, PythonImage: o.RuntimeImagePython, PackerImage: o.Bundles.PackerImage, KeybrokerURL: o.keybrokerURL(), StoreURL: o.Bundles.StoreURL,
				Env: o.RuntimeEnv, Authorities: o.RuntimeAuthorities, MaxBytes: o.Bundles.MaxBytes,
				Repository: o.Bundles.Registry, RegistryAuthorities: o.Bundles.RegistryAuthorities,
			},
			Namespace: o.Namespace, MaxJobs: maxInstalls, Retention: bundleRetention,
		},
		UsersOf: hostedbridge.UsersOf(m.GetClient()),
	}
	return bundles.Setup(m)
}
