// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

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
	c, err := newCore(ctx, &o, config, log)
	if err != nil {
		return err
	}
	defer c.bridges.Close()
	var stopTraces func()
	if c.tracer, stopTraces, err = startTraces(ctx, log); err != nil {
		return err
	}
	defer stopTraces()
	if c.audit, err = o.Audit.Open(c.auditRetention, c.identity.StoreTLS, stdout, log); err != nil {
		return err
	}
	service, err := newService(ctx, &o, c)
	if err != nil {
		return errors.Join(err, c.audit.Sink.Close())
	}
	endTrail := c.audit.Run(ctx)
	err = c.serve(ctx, service)
	return errors.Join(err, endTrail())
}

// newService listens last, so that no client connects to a process that then
// ends over its configuration.
func newService(ctx context.Context, o *options, c *core) (*graceful.Service, error) {
	if err := c.audit.Register(c.metrics); err != nil {
		return nil, err
	}
	readiness := &graceful.Readiness{Check: func() bool {
		tried, _ := c.quotas.store.Shared()
		return tried && c.routes.Current() != nil && c.identity.Ready()
	}}
	if err := telemetry.Register(c.metrics, readiness.Gauge("ingress")); err != nil {
		return nil, err
	}
	server, err := newServer(ctx, o, c)
	if err != nil {
		return nil, err
	}
	c.background = append(c.background, c.popularity().Run)
	return c.listen(ctx, o, server, &graceful.Service{
		Probes:    graceful.Endpoint{Server: graceful.NewProbes(readiness, c.metrics, c.log)},
		Readiness: readiness, DrainDelay: o.DrainDelay, DrainTimeout: o.DrainTimeout, Log: c.log,
	})
}

// newServer returns the public server with its features.
func newServer(ctx context.Context, o *options, c *core) (*ingress.Server, error) {
	l, err := o.Login.open(ctx, c, &o.Console)
	if err != nil {
		return nil, err
	}
	c.background = append(c.background, l.run...)
	served, err := c.features(o, l)
	if err != nil {
		return nil, err
	}
	kept, err := c.openAnswers(ctx, o)
	if err != nil {
		return nil, err
	}
	return ingress.New(o.Ingress, ingress.Deps{ //nolint:contextcheck // What it logs later is of no request.
		Routes: c.routes, Bridges: c.bridges, Activity: c.status, Audit: c.audit.Sink, Hasher: c.audit.Hasher, Kept: kept,
		Quotas: c.quotas.store, Tiers: c.quotas.tiers.Tiers,
		AdminKey: authn.NewAdminKey(o.AdminKeyFile, c.log).Get, Features: served, OAuth: l.oauth,
		Metrics: c.metrics, Log: c.log, Tracer: c.tracer,
	})
}

// listen adds to service the public server and where both listen.
func (c *core) listen(ctx context.Context, o *options, surface *ingress.Server, service *graceful.Service) (*graceful.Service, error) {
	certificate, err := o.TLS.Open(c.log)
	if err != nil {
		return nil, err
	}
	if err := certificate.Register(c.metrics); err != nil {
		return nil, err
	}
	c.background = append(c.background, certificate.Run)
	var listener net.ListenConfig
	public, err := listener.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	probes, err := listener.Listen(ctx, "tcp", o.ProbeListen)
	if err != nil {
		return nil, err
	}
	service.Log.InfoContext(ctx, "serving", "public", public.Addr().String(), "probes", probes.Addr().String(), "tls", certificate != nil)
	service.Probes.Listener = probes
	public = limits.NewListener(public, o.Ingress.TrustedProxies)
	server := surface.HTTPServer()
	service.Public = []graceful.Endpoint{{Server: server, Listener: certificate.Protect(server, public), OnDrain: surface.Drain, Wait: surface.Wait}}
	return service, nil
}

// serve runs service, and what is in the background, until ctx ends. The background
// ends after the server, which still needs routes and certificates while it drains;
// if a part of it fails, the server drains and the process ends with its error.
func (c *core) serve(ctx context.Context, service *graceful.Service) error {
	serving, drain := context.WithCancel(ctx)
	defer drain()
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, working := errgroup.WithContext(working)
	defer context.AfterFunc(working, drain)()
	for _, part := range c.background {
		group.Go(func() error { return part(working) })
	}
	group.Go(func() error {
		defer end()
		c.snapshots.await(serving)
		return service.Serve(serving)
	})
	return group.Wait()
}
