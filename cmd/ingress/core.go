// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit/trail"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/identity"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/route/status"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
	tenants "github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
)

// quotas are the limits of users and the counts of what they use.
type quotas struct {
	tiers *quotastore.TierFile
	store *quotastore.Store
}

// cluster is the API server, and where in it the installation is.
type cluster struct {
	client.Client

	config    *rest.Config
	namespace string
}

// core is what the public server and its features need in common.
type core struct {
	log       *slog.Logger
	metrics   *prometheus.Registry
	tracer    trace.Tracer
	cluster   cluster
	identity  *identity.Identity
	routes    *watch.Watcher
	snapshots *snapshots
	status    *status.Writer
	prober    *status.Prober
	bridges   *bridgeclient.Client
	audit     *trail.Trail
	quotas    *quotas
	catalog   *recipestore.Store
	programs  *management.Programs
	// background are what runs beside the servers, until they have drained.
	background []func(context.Context) error
}

// newCore returns all of it but the tracer and the audit trail, which end after the
// servers.
func newCore(ctx context.Context, o *options, config *rest.Config, log *slog.Logger) (*core, error) {
	c := &core{log: log, metrics: telemetry.NewRegistry("ingress"), cluster: cluster{config: config, namespace: o.Namespace}}
	kept, err := o.Snapshot.open(ctx, o.Namespace, log)
	if err != nil {
		return nil, err
	}
	published, err := publishedCA(config, o.Namespace)
	if err != nil {
		return nil, err
	}
	c.identity = identity.New(identity.Options{KeybrokerURL: o.KeybrokerURL, TokenFile: o.TokenFile, PublishedCA: published, Kept: kept, Log: log})
	c.bridges = bridgeclient.New(c.identity, o.BridgePort)
	if c.routes, err = watch.New(config, o.WatchNamespaces, o.Namespace, bundling.Package, log); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	c.snapshots = newSnapshots(kept, c.routes, log)
	if err := c.openStores(o, config); err != nil {
		return nil, err
	}
	c.prober = status.NewProber(c.routes, status.WithLeftOut(c.bridges.Health, c.routes.Bridge), c.bridges.RefreshSecrets, c.status.Observe, log)
	last := backupsOf(c.cluster, o, log)
	c.background = append(c.background, c.identity.Run, c.routes.Run, c.snapshots.run, c.status.Run, c.prober.Run, c.quotas.tiers.Run, c.quotas.store.Run, last.run)
	return c, errors.Join(registerOutages(c.metrics, c.routes, kept), registerExpiry(c.metrics, c.identity.Expiry), last.register(c.metrics))
}

// openStores opens what is kept in the cluster and in the shared store of quotas.
func (c *core) openStores(o *options, config *rest.Config) error {
	var err error
	if c.cluster.Client, err = clusterOf(config); err != nil {
		return err
	}
	if c.status, err = status.NewWriter(config, c.routes.Bridge, c.log); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if c.catalog, err = o.Catalog.open(config, o.Namespace, c.log); err != nil {
		return err
	}
	c.programs = management.NewPrograms(management.ProgramOptions{})
	c.quotas = &quotas{}
	if c.quotas.tiers, c.quotas.store, err = o.Quota.Open(c.identity.StoreTLS, c.metrics, c.log); err != nil || o.BundlesURL == "" {
		return err
	}
	store, err := bundle.NewClient(o.BundlesURL, c.identity.StoreTLS)
	if err != nil {
		return fmt.Errorf("--bundles-url: %w", err)
	}
	bundles := &tenants.Bundles{Client: c.cluster, Namespace: o.Namespace, Store: store, Log: c.log}
	c.background = append(c.background, bundles.Run)
	kept := &tenants.Programs{Client: c.cluster, Namespace: o.Namespace}
	c.programs = management.NewPrograms(management.ProgramOptions{List: kept.List, Delete: kept.Delete, Record: recordsOf(store), Bridges: c.routes.Bridges})
	return nil
}

// recordsOf returns what asks a store for the records of bundles.
func recordsOf(store *bundle.Client) func(context.Context, bundle.Digest) (bundle.Record, error) {
	return func(ctx context.Context, digest bundle.Digest) (bundle.Record, error) {
		r, err := store.Record(ctx, digest)
		if refusal, ok := errors.AsType[*bundle.StoreError](err); ok && refusal.Status == http.StatusNotFound {
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
// Deployments and CronJob. It sends nothing to the API server yet, which may be away.
func clusterOf(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return c, nil
}

// publishedCA returns what reads the keybroker's certificate. It is read through the API and not from a
// mounted volume, because the kubelet shows changes of those a minute late.
func publishedCA(config *rest.Config, namespace string) (func(context.Context) ([]byte, error), error) {
	const name, key = "hosted-bridge-ca", "ca.crt"
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return func(ctx context.Context) ([]byte, error) {
		published, err := api.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && published.Data[key] == "" {
			err = fmt.Errorf("it has no %s yet", key)
		}
		if err != nil {
			return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", namespace, name, err)
		}
		return []byte(published.Data[key]), nil
	}, nil
}

// auditIndex returns where administrators search for entries.
func (c *core) auditIndex() management.AuditIndex {
	if c.audit.Index == nil {
		return management.NoAuditIndex{}
	}
	return c.audit.Index
}

// auditRetention returns for how long a user's entries are kept: as long as the
// user's tier says. For users that have no bridge any more, or a tier that is
// none, it is the longest time that any tier has.
func (c *core) auditRetention(user string) time.Duration {
	const day = 24 * time.Hour
	tiers := c.quotas.tiers.Tiers()
	if table := c.routes.Current(); table != nil {
		if b, ok := table.Lookup(v1alpha1.UserID(user)); ok {
			if tier, ok := tiers[b.Tier]; ok {
				return time.Duration(tier.AuditDays) * day
			}
		}
	}
	longest := int32(1)
	for _, tier := range tiers {
		longest = max(longest, tier.AuditDays)
	}
	return time.Duration(longest) * day
}
