// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/controllers/sealing"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/scope"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// run serves until ctx ends and everything is drained.
func run(ctx context.Context, o Options, stderr io.Writer) error {
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	klog.SetSlogLogger(log) // What client-go has to say goes the same way.
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	tiers, err := quota.FromFile(o.Sealing.TiersFile, os.ReadFile)
	if err != nil {
		return err
	}
	master, err := masterkey.Open(ctx, o.masterKey(log))
	if err != nil {
		return err
	}
	config, err := restConfig(o.Kubeconfig)
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
	group.Go(func() error { return p.leader.run(working) })
	return group.Wait()
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "hosted-bridge-keybroker"
	return config, nil
}

// parts are what the process is made of.
type parts struct {
	server    *keybroker.Server
	publisher *keybroker.Publisher
	leader    *leader
	master    *masterkey.Source
	metrics   *prometheus.Registry
	log       *slog.Logger
}

func newParts(o Options, config *rest.Config, master *masterkey.Source, tiers quota.Tiers, log *slog.Logger) (*parts, error) {
	cluster, err := keybroker.NewCluster(config)
	if err != nil {
		return nil, err
	}
	secrets, err := store.New(store.Config{
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
		settings: sealing.Settings{Namespace: o.Namespace, Tiers: tiers, Concurrency: o.Sealing.Concurrency, Retention: o.Sealing.Retention},
	}
	p.leader, err = newLeader(config, o.Namespace, controllers.run, log)
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
	probeServer.Handler = withRing(probeServer.Handler, p.master.Status, o.WatchNamespaces)
	return &graceful.Service{
		Public:    []graceful.Endpoint{{Server: p.server.HTTP(), Listener: tls.NewListener(api, p.server.TLS())}},
		Probes:    graceful.Endpoint{Server: probeServer, Listener: probes},
		Readiness: readiness, DrainDelay: o.DrainDelay, DrainTimeout: o.DrainTimeout, Log: p.log,
	}, nil
}

// withRing adds to the probes which versions of the master key are loaded here:
// a new one may seal only when every replica can open it. It tells the numbers
// of the versions and nothing of the keys, and whose envelopes are sealed by it.
func withRing(probes http.Handler, status func() masterkey.Status, watched scope.Namespaces) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", probes)
	mux.HandleFunc("GET /ring", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(struct {
			masterkey.Status

			WatchNamespaces scope.Namespaces `json:"watchNamespaces,omitempty"`
		}{status(), watched})
		if err != nil {
			http.Error(w, "encode", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(body)
	})
	return mux
}
