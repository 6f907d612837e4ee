// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/bridge"
	"github.com/hostedbridge/hostedbridge/internal/bridge/process"
	"github.com/hostedbridge/hostedbridge/internal/harden"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

// serveOptions are the settings of a bridge on a person's machine.
type serveOptions struct {
	config   string
	http     string
	origins  []string
	logLevel string
}

func (o *serveOptions) register(c *cobra.Command) {
	configFlag(c, &o.config)
	c.Flags().StringVar(&o.http, "http", "", "serve streamable HTTP at /mcp and SSE at /sse on this address or port of this machine, instead of stdio")
	c.Flags().StringSliceVar(&o.origins, "allow-origin", nil, "website that may use the bridge, such as https://app.example.com")
	c.Flags().StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
}

// newServe returns the command that serves a person's own clients.
func newServe() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve this machine's clients, over stdio or HTTP",
		Args:  cobra.NoArgs,
		RunE:  o.run,
	}
	o.register(c)
	return c
}

func (o *serveOptions) run(c *cobra.Command, _ []string) error {
	m, err := newMachine(os.Getenv, o.config)
	if err != nil {
		return err
	}
	// stdout is the protocol's.
	log, err := newLog(c.ErrOrStderr(), o.logLevel)
	if err != nil {
		return err
	}
	if err := harden.Process(); err != nil {
		log.Warn("the process's memory is less protected than it should be", "error", err)
	}
	seen, err := m.contents()
	if err != nil {
		seen = nil // load says it better.
	}
	s, err := m.load(c.Context())
	if err != nil {
		return err
	}
	s.warn(log)
	var listener net.Listener
	if o.http != "" {
		if listener, err = listenHere(portOf(o.http)); err != nil {
			return err
		}
	}
	h := &home{machine: m, log: log, listener: listener, origins: o.origins}
	return h.serve(c.Context(), s, seen)
}

func listenHere(address string) (net.Listener, error) {
	if err := laptop.CheckListen(address); err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// home is a bridge on a person's machine.
type home struct {
	machine  *machine
	log      *slog.Logger
	listener net.Listener // nil for stdio
	origins  []string
}

// serve serves until ctx ends or, over stdio, the client leaves.
func (h *home) serve(ctx context.Context, s setup, seen []byte) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	tracer, stopTraces, err := process.StartTraces(base)
	if err != nil {
		return err
	}
	defer stopTraces()
	b := bridge.New(base, s.config, bridge.Options{Log: h.log, SaveSecret: s.save, Turn: s.turn, Tracer: tracer, Memory: process.UsableMemory()})
	b.UseSecrets(s.set())
	ctx, leave := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { h.follow(ctx, b, seen); return nil })
	group.Go(func() error { process.SpareMemory(ctx, b.Served); return nil })
	group.Go(func() error {
		defer leave()
		if h.listener == nil {
			return b.ServeStdio(ctx, os.Stdin, unclosed{os.Stdout})
		}
		return h.serveHTTP(ctx, b)
	})
	err = group.Wait()
	leave()
	b.Close()
	return err
}

func (h *home) serveHTTP(ctx context.Context, b *bridge.Bridge) error {
	server := &http.Server{
		Handler:           laptop.Guard(b.Handler(), h.origins),
		ReadHeaderTimeout: process.HeaderTimeout,
		MaxHeaderBytes:    process.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	address := "http://" + h.listener.Addr().String()
	h.log.Info("serving", "streamableHTTP", address+"/mcp", "sse", address+"/sse")
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return process.IgnoreClosed(server.Serve(h.listener), "serve")
}

// follow takes over changes of the configuration and of the secrets.
func (h *home) follow(ctx context.Context, b *bridge.Bridge, seen []byte) {
	process.Follower{
		Interval: process.FollowInterval,
		Read:     h.machine.contents,
		Changed: func([]byte) {
			s, err := h.machine.load(ctx)
			if err != nil {
				h.log.Error("the new configuration cannot be used, the former one stays", "error", err)
				return
			}
			s.warn(h.log)
			// The secrets first, so that no new server begins without them.
			b.UseSecrets(s.set())
			if err := b.Reconfigure(s.config); err != nil { //nolint:contextcheck // What servers do goes on after this.
				h.log.Error("the new configuration cannot be used, the former one stays", "error", err)
				return
			}
			h.log.Info("configuration and secrets read again", "servers", len(s.config.Servers))
		},
		Failed: func(err error) {
			h.log.Warn("the configuration cannot be read, the one in use stays", "error", err)
		},
	}.Run(ctx, seen)
}

// unclosed is an output that stays open when its client has left.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
