// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

// run serves until ctx ends and everything is drained.
func run(ctx context.Context, o Options, stderr io.Writer) error {
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	klog.SetSlogLogger(log) // What client-go has to say goes the same way.
	ring, err := keybroker.LoadRing(o.MasterKeyDir)
	if err != nil {
		return err
	}
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := keybroker.NewCluster(config)
	if err != nil {
		return err
	}
	publisher := &keybroker.Publisher{
		Trust: cluster, Namespace: o.Namespace, PEM: ring.Authority().CertificatePEM(),
		After: time.After, Log: log,
	}
	service, err := newService(ctx, o, cluster, ring, log)
	if err != nil {
		return err
	}
	// Ready without that is of no use: nobody could recognise this process.
	service.Readiness.Check = publisher.Published
	log.InfoContext(ctx, "keybroker starts", "namespace", o.Namespace, "keyVersions", ring.Versions())
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return publisher.Run(working) })
	group.Go(func() error { return service.Serve(working) })
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

// newService listens last, so that nobody connects to a process that then
// ends over its configuration.
func newService(ctx context.Context, o Options, cluster *keybroker.Cluster, ring *keybroker.Ring, log *slog.Logger) (*telemetry.Service, error) {
	metrics := telemetry.NewRegistry("keybroker")
	server, err := keybroker.New(keybroker.Config{Namespace: o.Namespace, ClusterID: o.ClusterID}, keybroker.Deps{
		Reader: cluster, Secrets: cluster, Ring: ring,
		Random: rand.Reader, Now: time.Now, Registry: metrics, Log: log,
	})
	if err != nil {
		return nil, err
	}
	readiness := &telemetry.Readiness{}
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
	return &telemetry.Service{
		Public:    []telemetry.Endpoint{{Server: server.HTTP(), Listener: tls.NewListener(api, server.TLS())}},
		Probes:    telemetry.Endpoint{Server: telemetry.NewProbes(readiness, metrics, log), Listener: probes},
		Readiness: readiness, DrainDelay: o.DrainDelay, DrainTimeout: o.DrainTimeout, Log: log,
	}, nil
}
