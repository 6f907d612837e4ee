// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/programbundle"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/bundling/bundlename"
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// BundleOptions are how programs are installed once for all.
type BundleOptions struct {
	// StoreURL is where the installation's store keeps bundles. Empty means that each program is
	// fetched when it starts.
	StoreURL string
	// PackerImage is the image that packs what was installed.
	PackerImage string
	// Architecture is that of the machines on which programs run.
	Architecture string
	// InstallScripts are the packages whose install scripts run.
	InstallScripts []string
	// MaxBytes is how much a bundle may have, uncompressed, and MaxInstalls how many are made at
	// the same time.
	MaxBytes    int64
	MaxInstalls int
	// Retention is how long a bundle is kept that no HostedBridge uses.
	Retention time.Duration
	// Registry is the repository where bundles are images, and RegistryAuthorities are certificate
	// authorities in PEM that it is trusted by besides those of the system.
	Registry, RegistryAuthorities string
}

func bundleDefaults() BundleOptions {
	return BundleOptions{
		PackerImage:  "hosted-bridge/ingress:dev",
		Architecture: runtime.GOARCH,
		// Twice the largest of the catalog's packages, which have up to 411 MB.
		MaxBytes: 1 << 30,
		// An install takes a core for some seconds.
		MaxInstalls: 4,
		// Longer than a holiday.
		Retention: 30 * 24 * time.Hour,
	}
}

func (o *BundleOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.StoreURL, "bundles-url", o.StoreURL, "URL at which the store keeps the bundles of programs. Without it, each program is fetched from its registry when it starts")
	fs.StringVar(&o.PackerImage, "packer-image", o.PackerImage, "image of the ingress's program, which packs what a Job has installed")
	fs.StringVar(&o.Architecture, "bundle-architecture", o.Architecture, "architecture of the machines on which programs run, such as amd64 or arm64")
	fs.StringArrayVar(&o.InstallScripts, "bundle-install-scripts", o.InstallScripts, "package of npm whose install scripts, and those of its dependencies, run when it is installed, or package of Python that may be built, with its dependencies; repeat the flag for each package. That runs in a Job without any secret")
	fs.Int64Var(&o.MaxBytes, "bundle-max-bytes", o.MaxBytes, "how many bytes an installed package may have with its dependencies")
	fs.IntVar(&o.MaxInstalls, "max-installs", o.MaxInstalls, "how many packages are installed at the same time")
	fs.StringVar(&o.Registry, "bundle-registry", o.Registry, "repository of a registry, as host/path, where bundles are images that pods mount. It needs Kubernetes 1.35 and a container runtime with image volumes, such as containerd 2.1. Without it bridges fetch bundles from the store")
	fs.StringVar(&o.RegistryAuthorities, "bundle-registry-authorities", o.RegistryAuthorities, "certificate authorities in PEM that the registry of bundles is trusted by, besides those of the system")
	fs.DurationVar(&o.Retention, "bundle-retention", o.Retention, "how long a bundle is kept that no HostedBridge uses")
}

// packageName matches the name of a package of npm or of the Python Package Index.
var packageName = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*$`)

func (o *BundleOptions) validate() error {
	errs := []error{optionalURL("bundles-url", o.StoreURL, "https"), notEmpty("packer-image", o.PackerImage), notEmpty("bundle-architecture", o.Architecture)}
	for _, name := range o.InstallScripts {
		if !packageName.MatchString(name) {
			errs = append(errs, fmt.Errorf("--bundle-install-scripts %.80q must be the name of a package without a version, such as @example/server", name))
		}
	}
	if o.Registry != "" && !bundlename.IsRepository(o.Registry) {
		errs = append(errs, fmt.Errorf("--bundle-registry %.200q must be a repository with its host and without a tag, such as registry.example.com/mcp/bundles", o.Registry))
	}
	if o.MaxBytes < 1 || o.MaxInstalls < 1 || o.Retention <= 0 {
		errs = append(errs, errors.New("--bundle-max-bytes, --max-installs and --bundle-retention must be greater than 0"))
	}
	return errors.Join(errs...)
}

// bundleSettings returns which programs are started from bundles: none without a store, and none of a
// method without an image in which they run.
func (o *Options) bundleSettings() bundling.Settings {
	if o.Bundles.StoreURL == "" {
		return bundling.Settings{}
	}
	return bundling.Settings{
		Architecture: o.Bundles.Architecture, InstallScripts: o.Bundles.InstallScripts, Repository: o.Bundles.Registry,
		Lacking: desired.Settings{RuntimeImageNode: o.RuntimeImageNode, RuntimeImagePython: o.RuntimeImagePython}.Lacking(),
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
			Installing: desired.Installing{
				Image: o.RuntimeImageNode, PythonImage: o.RuntimeImagePython, PackerImage: o.Bundles.PackerImage, KeybrokerURL: o.KeybrokerURL, StoreURL: o.Bundles.StoreURL,
				Env: o.RuntimeEnv, Authorities: o.RuntimeAuthorities, MaxBytes: o.Bundles.MaxBytes,
				Repository: o.Bundles.Registry, RegistryAuthorities: o.Bundles.RegistryAuthorities,
			},
			Namespace: o.Namespace, MaxJobs: o.Bundles.MaxInstalls, Retention: o.Bundles.Retention,
		},
		UsersOf: hostedbridge.UsersOf(m.GetClient()),
	}
	return bundles.Setup(m)
}
