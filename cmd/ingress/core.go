// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleclient"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/programsapi"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/internal/route/status"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
	tenants "github.com/hostedbridge/hostedbridge/internal/tenant/kubestore"
)

// core is what the public server and its features need in common.
type core struct {
	log       *slog.Logger
	metrics   *prometheus.Registry
	tracer    trace.Tracer
	cluster   client.Client
	identity  *identity
	routes    *watch.Watcher
	snapshots *snapshots
	status    *status.Writer
	prober    *status.Prober
	bridges   *bridgeclient.Client
	audit     *trail
	quotas    *quotas
	catalog   *kubestore.Store
	programs  *programsapi.Programs
	// background are what runs beside the servers, until they have drained.
	background []func(context.Context) error
}

// newCore returns all of it but the tracer and the audit trail, which end after the
// servers.
func newCore(ctx context.Context, o *options, config *rest.Config, log *slog.Logger) (*core, error) {
	c := &core{log: log, metrics: telemetry.NewRegistry("ingress"), identity: &identity{options: *o, config: config, log: log}}
	c.bridges = bridgeclient.New(c.identity, o.BridgePort)
	kept, err := o.Snapshot.open(ctx, o.Namespace, log)
	if err != nil {
		return nil, err
	}
	c.identity.kept = kept
	c.identity.restore()
	if c.routes, err = watch.New(config, o.WatchNamespaces, o.Namespace, bundling.Package, log); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	c.snapshots = newSnapshots(kept, o.Snapshot.MaxAge, c.routes, log)
	if err := c.openStores(o, config); err != nil {
		return nil, err
	}
	c.prober = status.NewProber(c.routes, status.WithLeftOut(c.bridges.Health, c.routes.Bridge), c.bridges.RefreshSecrets, c.status.Observe, log)
	c.background = append(c.background, c.identity.run, c.routes.Run, c.snapshots.run, c.status.Run, c.prober.Run, c.quotas.tiers.Run, c.quotas.store.Run)
	return c, errors.Join(registerOutages(c.metrics, c.routes, kept), registerExpiry(c.metrics, c.identity.expiry))
}

// openStores opens what is kept in the cluster and in the shared store of quotas.
func (c *core) openStores(o *options, config *rest.Config) error {
	var err error
	if c.cluster, err = clusterOf(config); err != nil {
		return err
	}
	if c.status, err = status.NewWriter(config, c.routes.Bridge, c.log); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if c.catalog, err = o.Catalog.open(config, o.Namespace, c.log); err != nil {
		return err
	}
	c.programs = programsapi.New(programsapi.Options{})
	if c.quotas, err = o.Quota.open(c.identity.storeTLS, c.metrics, c.log); err != nil || o.BundlesURL == "" {
		return err
	}
	store, err := bundleclient.New(o.BundlesURL, c.identity.storeTLS)
	if err != nil {
		return fmt.Errorf("--bundles-url: %w", err)
	}
	bundles := &tenants.Bundles{Client: c.cluster, Namespace: o.Namespace, Store: store, Log: c.log}
	c.background = append(c.background, bundles.Run)
	kept := &tenants.Programs{Client: c.cluster, Namespace: o.Namespace}
	c.programs = programsapi.New(programsapi.Options{List: kept.List, Delete: kept.Delete, Record: recordsOf(store), Bridges: c.routes.Bridges})
	return nil
}

// recordsOf returns what asks a store for the records of bundles.
func recordsOf(store *bundleclient.Client) func(context.Context, bundle.Digest) (bundle.Record, error) {
	return func(ctx context.Context, digest bundle.Digest) (bundle.Record, error) {
		r, err := store.Record(ctx, digest)
		if refusal, ok := errors.AsType[*bundleclient.Error](err); ok && refusal.Status == http.StatusNotFound {
			return r, fmt.Errorf("%w: %w", programs.ErrGone, err)
		}
		return r, err
	}
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "hosted-bridge-ingress"
	return config, nil
}

// clusterOf returns the client of the cluster's HostedBridges, and of the installation's own
// Deployments. It sends nothing to
// the API server yet, which may be away.
func clusterOf(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return c, nil
}
