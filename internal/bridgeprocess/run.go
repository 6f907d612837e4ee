// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/bridge"
	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/process"
	"github.com/hostedbridge/hostedbridge/internal/bridge/suspects"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/cgroup"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// reminder is the time between two warnings that the certificate or the secrets are missing.
const reminder = 30 * time.Second

// Run serves until ctx ends and then drains. Both listeners are bound before
// anything else, so that a taken port is an error at once.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	keybroker, err := client.New(client.Config{
		URL:       o.KeybrokerURL,
		CAPEM:     []byte(o.KeybrokerCA),
		TokenFile: o.TokenFile,
		Log:       log,
	})
	if err != nil {
		return fmt.Errorf("keybroker client: %w", err)
	}
	source := client.NewSource(keybroker, clock.System{})
	public, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen for the ingress: %w", err)
	}
	defer public.Close()
	probes, err := net.Listen("tcp", o.ProbeListen)
	if err != nil {
		return fmt.Errorf("listen for probes: %w", err)
	}
	defer probes.Close()
	log.Info("bridge starts", "user", o.config.UserID, "servers", len(o.config.Servers), "listen", public.Addr().String())
	return (&pod{options: o, log: log, clock: clock.System{}, source: source, secrets: keybroker}).serve(ctx, public, probes)
}

// pod is the running bridge.
type pod struct {
	options Options
	log     *slog.Logger
	clock   clock.Clock
	source  *client.Source
	secrets secretsClient
	ready   readiness
}

func (p *pod) serve(ctx context.Context, public, probes net.Listener) error {
	// Calls in flight outlive ctx, which only begins the drain.
	base, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	keeper := newKeeper(p.secrets, p.clock, nil, p.log)
	tracer, stopTraces, err := process.StartTraces(base)
	if err != nil {
		return err
	}
	defer stopTraces()
	suspected, forget := p.watchSuspects()
	defer forget()
	fetch, err := p.fetchBundle()
	if err != nil {
		return err
	}
	b := bridge.New(base, p.options.config, bridge.Options{
		Log: p.log, SaveSecret: keeper.save, Tracer: tracer, Suspects: suspected, Memory: process.UsableMemory(), FetchBundle: fetch,
	})
	keeper.use, keeper.useKeys = b.UseSecrets, b.UseSessionKeys
	p.ready.certificate, p.ready.secrets = p.source.Ready, keeper.ready
	errorLog := slog.NewLogLogger(p.log.Handler(), slog.LevelDebug)
	front := &http.Server{
		Handler:           p.ready.inFront(keeper.handler(b.Handler())),
		TLSConfig:         p.source.ServerTLS(pki.IngressURI()),
		ReadHeaderTimeout: process.HeaderTimeout,
		MaxHeaderBytes:    process.MaxHeaderBytes,
		ErrorLog:          errorLog,
	}
	kubelet := &http.Server{Handler: p.ready.handler(b.ServeMetrics), ReadHeaderTimeout: process.HeaderTimeout, ErrorLog: errorLog}

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.source.Run(groupCtx) })
	group.Go(func() error { return process.IgnoreClosed(front.ServeTLS(public, "", ""), "serve the ingress") })
	group.Go(func() error { return process.IgnoreClosed(kubelet.Serve(probes), "serve probes") })
	group.Go(func() error { p.keep(groupCtx, keeper); return nil })
	group.Go(func() error { p.await(groupCtx, keeper); return nil })
	group.Go(func() error { p.follow(groupCtx, b.Reconfigure); return nil })
	group.Go(func() error { process.SpareMemory(groupCtx, b.Served); return nil })
	group.Go(func() error {
		<-groupCtx.Done()
		return errors.Join(p.drain(base, b, front), kubelet.Close())
	})
	return group.Wait()
}

// fetchBundle returns what fetches the files of programs, nil for a pod that needs none.
func (p *pod) fetchBundle() (credential.FetchBundle, error) {
	if p.options.BundlesURL == "" {
		return nil, nil
	}
	store, err := bundle.NewClient(p.options.BundlesURL, func() *tls.Config { return p.source.ClientTLS(pki.StoreURI()) })
	if err != nil {
		return nil, fmt.Errorf("--bundles-url: %w", err)
	}
	folder := newBundleFolder(store, p.options.BundlesFolder, p.log)
	return func(ctx context.Context, b bridgeconfig.Bundle) error {
		// Servers connect before the pod has its certificate, and a failure would have a pause follow.
		select {
		case <-p.source.FirstReady():
			return folder.Fetch(ctx, b)
		case <-ctx.Done():
			return fmt.Errorf("the bridge waits for its certificate: %w", ctx.Err())
		}
	}, nil
}

// watchSuspects has the server noted that most likely ends the process if it
// ends now, until stop is called. Without the file nothing is noted.
func (p *pod) watchSuspects() (watch *suspects.Watch, stop func()) {
	if p.options.TerminationLog == "" {
		return nil, func() {}
	}
	write, closed, err := suspects.File(p.options.TerminationLog, p.log)
	if err != nil {
		p.log.Warn("cannot record which server ends the process, if one does", "error", err)
		return nil, func() {}
	}
	watch = suspects.New(suspects.Options{Limit: cgroup.MemoryLimit(), Write: write})
	return watch, func() {
		watch.Stop()
		_ = closed()
	}
}

// follow takes over the configuration whenever its file has another one. One
// that is not valid leaves the bridge as it is.
func (p *pod) follow(ctx context.Context, reconfigure func(bridgeconfig.Config) error) {
	path := p.options.ConfigFile
	process.Follower{
		Interval: process.FollowInterval,
		Read:     func() ([]byte, error) { return os.ReadFile(path) },
		Changed: func(encoded []byte) {
			c, err := bridgeconfig.Parse(encoded)
			if err == nil {
				err = reconfigure(c)
			}
			if err != nil {
				p.log.Error("the new configuration cannot be used, the former one stays", "error", err)
				return
			}
			p.log.Info("configuration replaced", "servers", len(c.Servers))
		},
		Failed: func(err error) { p.log.Warn("the configuration cannot be read, the one in use stays", "error", err) },
	}.Run(ctx, p.options.configBytes)
}

// keep fetches the secrets once there is a certificate: before that the
// keybroker knows this pod no better.
func (p *pod) keep(ctx context.Context, k *keeper) {
	// The source's first message is about the certificate that is awaited here.
	select {
	case <-ctx.Done():
	case <-p.source.Renewed():
		k.run(ctx, p.source.Renewed())
	}
}

// await says in the log why a new pod is not ready.
func (p *pod) await(ctx context.Context, k *keeper) {
	began := time.Now()
	for _, next := range []struct {
		what  string
		there <-chan struct{}
	}{{"a certificate", p.source.FirstReady()}, {"the secrets", k.first}} {
		p.log.Info("waiting for "+next.what+" from the keybroker", "url", p.options.KeybrokerURL)
		if !p.awaitOne(ctx, next.what, next.there) {
			return
		}
	}
	p.log.Info("serving", "waited", time.Since(began).Round(time.Millisecond).String())
}

func (p *pod) awaitOne(ctx context.Context, what string, there <-chan struct{}) bool {
	began := time.Now()
	ticker := time.NewTicker(reminder)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-there:
			return true
		case <-ticker.C:
			p.log.Warn("still waiting for "+what+" from the keybroker", "waited", time.Since(began).Round(time.Second).String())
		}
	}
}

// drain goes on taking calls for the delay, lets those in flight end and closes the bridge and the connections.
func (p *pod) drain(ctx context.Context, b *bridge.Bridge, front *http.Server) error {
	p.ready.draining.Store(true)
	p.log.Info("draining", "delay", p.options.DrainDelay.String(), "timeout", p.options.DrainTimeout.String())
	<-p.clock.After(p.options.DrainDelay)
	ctx, cancel := context.WithTimeout(ctx, p.options.DrainTimeout)
	defer cancel()
	// Shutdown closes the listener at once. It waits until each answer is written, and for clients that
	// only listen, which the end of the bridge ends.
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = front.Shutdown(ctx)
	}()
	if left := b.Drain(ctx); left > 0 {
		p.log.Warn("calls were cut off at the end of the drain", "calls", left)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		b.Close()
	}()
	// The bridge cannot close while it writes to a client that does not read, until the connection is closed.
	<-stopped
	err := front.Close()
	<-closed
	return err
}
