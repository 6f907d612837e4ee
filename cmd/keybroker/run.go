// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/controllers/sealing"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// leaseName is also what the keybroker is called in events.
const leaseName = "hosted-bridge-keybroker"

// run serves until ctx ends and everything is drained.
func run(ctx context.Context, o Options, stderr io.Writer) error {
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	klog.SetSlogLogger(log) // What client-go has to say goes the same way.
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	tiers, err := quota.FromFile(o.TiersFile, os.ReadFile)
	if err != nil {
		return err
	}
	master, err := masterkey.Open(ctx, o.masterKey(log))
	if err != nil {
		return err
	}
	config, err := keybroker.ClientConfig(o.Kubeconfig)
	if err != nil {
		return err
	}
	p, err := newParts(o, config, master, tiers, log)
	if err != nil {
		return err
	}
	service, err := p.listen(ctx, o)
	if err != nil {
		return err
	}
	status := master.Status()
	log.InfoContext(ctx, "keybroker starts", "namespace", o.Namespace,
		"keyProvider", status.Provider, "keyVersions", status.Versions, "keyVersion", status.Current)
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return p.publisher.Run(working) })
	group.Go(func() error { return service.Serve(working) })
	group.Go(func() error { return master.Run(working) })
	group.Go(func() error { return p.leader.Run(working) })
	return group.Wait()
}

// parts are what the process is made of.
type parts struct {
	server    *keybroker.Server
	publisher *keybroker.Publisher
	leader    *keybroker.Leader
	master    *masterkey.Source
	metrics   *prometheus.Registry
	log       *slog.Logger
}

func newParts(o Options, config *rest.Config, master *masterkey.Source, tiers quota.Tiers, log *slog.Logger) (*parts, error) {
	cluster, err := keybroker.NewCluster(config)
	if err != nil {
		return nil, err
	}
	secrets, err := secretstore.New(secretstore.Config{
		Secrets: cluster, Keys: master.Keys, Cluster: o.ClusterID,
		Random: rand.Reader, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	p := &parts{master: master, metrics: telemetry.NewRegistry("keybroker"), log: log}
	p.server, err = keybroker.New(keybroker.Config{Namespace: o.Namespace, Watched: o.WatchNamespaces}, keybroker.Deps{
		Reader: o.reader(cluster), Store: secrets, MasterKey: master, Tiers: tiers,
		Random: rand.Reader, Now: time.Now, Registry: p.metrics, Log: log,
	})
	if err != nil {
		return nil, err
	}
	metrics, err := sealing.NewMetrics(p.metrics, p.server.SealedFromSources())
	if err != nil {
		return nil, err
	}
	published, err := keybroker.Published(master.Authority())
	if err != nil {
		return nil, err
	}
	p.publisher = &keybroker.Publisher{
		Trust: cluster, Namespace: o.Namespace, Data: published,
		After: time.After, Log: log,
	}
	controllers := &controllers{
		config: config, store: secrets, keys: currentKey{master}, metrics: metrics, log: log, watched: o.WatchNamespaces,
		settings: sealing.Settings{Namespace: o.Namespace, Tiers: tiers, Concurrency: sealConcurrency, Retention: o.Retention},
	}
	p.leader, err = keybroker.NewLeader(config, types.NamespacedName{Namespace: o.Namespace, Name: leaseName}, controllers.run, log)
	return p, err
}

// listen is last, so that nobody connects to a process that then ends over its
// configuration.
func (p *parts) listen(ctx context.Context, o Options) (*graceful.Service, error) {
	// Ready without that is of no use: nobody could recognise this process.
	readiness := &graceful.Readiness{Check: p.publisher.Published}
	if err := telemetry.Register(p.metrics, readiness.Gauge("keybroker")); err != nil {
		return nil, err
	}
	var listener net.ListenConfig
	api, err := listener.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	probes, err := listener.Listen(ctx, "tcp", o.ProbeListen)
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	probeServer := graceful.NewProbes(readiness, p.metrics, p.log)
	probeServer.Handler = keybroker.WithRing(probeServer.Handler, p.master.Status, o.WatchNamespaces)
	return &graceful.Service{
		Public:    []graceful.Endpoint{{Server: p.server.HTTP(), Listener: tls.NewListener(api, p.server.TLS())}},
		Probes:    graceful.Endpoint{Server: probeServer, Listener: probes},
		Readiness: readiness, DrainDelay: o.DrainDelay, DrainTimeout: drainTimeout, Log: p.log,
	}, nil
}
