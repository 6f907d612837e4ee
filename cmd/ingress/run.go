// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/quota/store"
	"github.com/hostedbridge/hostedbridge/internal/quota/tierfile"
	"github.com/hostedbridge/hostedbridge/internal/route/report"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot/disk"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
	"github.com/hostedbridge/hostedbridge/internal/userkey/keyring"
)

// parts are what runs beside the servers.
type parts struct {
	credentials *credentials
	cluster     client.Client
	kept        *disk.Directory
	snapshots   *snapshots
	watcher     *watch.Watcher
	status      *watch.StatusWriter
	prober      *report.Prober
	bridges     *ingress.Bridges
	tracer      trace.Tracer
	adminKey    *adminKey
	keys        *keyring.Keyring
	index       *index.Index // nil where there is none
	certificate *certificate // nil where the surface is without TLS
	audit       *sink.Sink
	hasher      *audit.Hasher
	tiers       *tierfile.File
	quotas      *store.Store
	catalog     *kubestore.Store
	seeder      *seed.Seeder // nil where there is no source of recipes
	logins      *logins
	seedAtStart func(context.Context) error
}

// run serves until ctx ends and everything is drained.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	// What client-go and controller-runtime have to say goes the same way.
	klog.SetSlogLogger(log)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return err
	}
	p, err := newParts(ctx, o, config, log)
	if err != nil {
		return err
	}
	defer p.bridges.Close()
	var stopTraces func()
	if p.tracer, stopTraces, err = startTraces(ctx, o.OTLPEndpoint, log); err != nil {
		return err
	}
	defer stopTraces()
	if p.index = o.openIndex(p.keepAudit, log); p.index != nil {
		o.Audit.Sink.Follow = p.index.Follow
	}
	if p.audit, p.hasher, err = o.Audit.open(stdout, log); err != nil {
		return err
	}
	service, err := newService(ctx, o, p, log)
	if err != nil {
		return errors.Join(err, p.audit.Close())
	}
	endTrail := p.keepTrail(ctx)
	err = p.serve(ctx, service)
	return errors.Join(err, endTrail())
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "hosted-bridge-ingress"
	return config, nil
}

// clusterOf returns the client of the cluster's HostedBridges. It asks the API
// server for nothing yet, which may be away.
func clusterOf(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	return c, nil
}

func newParts(ctx context.Context, o options, config *rest.Config, log *slog.Logger) (*parts, error) {
	p := &parts{seedAtStart: func(context.Context) error { return nil }, credentials: &credentials{options: o, config: config, log: log}, adminKey: newAdminKey(o.AdminKeyFile, log)}
	p.bridges = ingress.NewBridges(p.credentials, o.BridgePort)
	var err error
	if p.kept, err = o.Snapshot.open(ctx, o.Namespace, log); err != nil {
		return nil, err
	}
	if p.certificate, err = o.TLS.open(log); err != nil {
		return nil, err
	}
	p.credentials.kept = p.kept
	p.credentials.restore()
	if p.watcher, err = watch.New(config, o.WatchNamespaces, log); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	p.snapshots = newSnapshots(p.kept, o.Snapshot.MaxAge, p.watcher, log)
	if p.cluster, err = clusterOf(config); err != nil {
		return nil, err
	}
	p.keys = keyring.New(p.cluster, rand.Reader, time.Now)
	if p.status, err = watch.NewStatusWriter(config, p.watcher, log); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	if p.catalog, err = o.Catalog.open(config, o.Namespace, log); err != nil {
		return nil, err
	}
	p.prober = report.NewProber(p.watcher, p.bridges.Health, p.bridges.RefreshSecrets, p.status.Observe, log)
	return p, nil
}

// newService listens last, so that nobody connects to a process that then
// ends over its configuration.
func newService(ctx context.Context, o options, p *parts, log *slog.Logger) (*telemetry.Service, error) {
	metrics := telemetry.NewRegistry("ingress")
	var err error
	if p.tiers, p.quotas, err = o.Quota.open(metrics, log); err != nil {
		return nil, err
	}
	if p.index != nil {
		if err := p.index.Register(metrics); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	readiness := &telemetry.Readiness{Check: func() bool { return p.watcher.Current() != nil && p.credentials.ready() }}
	if err := errors.Join(registerOutages(metrics, p.watcher, p.kept), registerExpiry(metrics, p.credentials.expiry), telemetry.Register(metrics, readiness.Gauge("ingress"))); err != nil {
		return nil, err
	}
	if err := p.certificate.register(metrics); err != nil {
		return nil, err
	}
	if err := o.Seed.open(p, metrics, log); err != nil {
		return nil, err
	}
	recipes, err := p.catalogAPI(o.Catalog, p.seeder, log)
	if err != nil {
		return nil, err
	}
	if p.logins, err = o.Login.open(ctx, p, metrics, log); err != nil {
		return nil, err
	}
	server, err := ingress.New(o.Ingress, ingress.Deps{ //nolint:contextcheck // What it logs later is of no request.
		Routes: p.watcher, Bridges: p.bridges, Reports: p.prober, Activity: p.status, Secrets: &p.credentials.secrets, Audit: p.audit, Quotas: p.quotas, Tiers: p.tiers.Tiers, Hasher: p.hasher,
		AdminKey: p.adminKey.get, Keys: p.keys, AuditIndex: p.auditIndex(), Inventory: p.inventory, Catalog: recipes, OAuth: p.logins.oauth, Login: p.logins.server,
		Metrics: metrics, Log: log, Tracer: p.tracer,
	})
	if err != nil {
		return nil, err
	}
	return p.listen(ctx, o, server, &telemetry.Service{
		Probes:    telemetry.Endpoint{Server: telemetry.NewProbes(readiness, metrics, log)},
		Readiness: readiness, DrainDelay: o.DrainDelay, DrainTimeout: o.DrainTimeout, Log: log,
	})
}

// listen adds to service the public server and where both listen.
func (p *parts) listen(ctx context.Context, o options, surface *ingress.Server, service *telemetry.Service) (*telemetry.Service, error) {
	var listener net.ListenConfig
	public, err := listener.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	probes, err := listener.Listen(ctx, "tcp", o.ProbeListen)
	if err != nil {
		return nil, err
	}
	service.Log.InfoContext(ctx, "serving", "public", public.Addr().String(), "probes", probes.Addr().String(), "tls", p.certificate != nil)
	service.Probes.Listener = probes
	server := surface.HTTPServer()
	service.Public = []telemetry.Endpoint{{Server: server, Listener: p.certificate.protect(server, public), OnDrain: surface.Drain}}
	return service, nil
}

// serve runs all parts until ctx ends. The others end after the server, which
// still needs routes and certificates while it drains; if one of them fails,
// the server drains and the process ends with its error.
func (p *parts) serve(ctx context.Context, service *telemetry.Service) error {
	serving, drain := context.WithCancel(ctx)
	defer drain()
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, working := errgroup.WithContext(working)
	defer context.AfterFunc(working, drain)()
	parts := []func(context.Context) error{p.credentials.run, p.watcher.Run, p.snapshots.run, p.status.Run, p.prober.Run, p.tiers.Run, p.quotas.Run, p.catalog.Run, p.seedAtStart, p.certificate.run, p.popularity(service.Log).Run}
	for _, part := range append(parts, p.logins.run...) {
		group.Go(func() error { return part(working) })
	}
	group.Go(func() error {
		defer end()
		p.snapshots.await(serving)
		return service.Serve(serving)
	})
	return group.Wait()
}
