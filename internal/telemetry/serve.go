// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Endpoint is a server and where it listens.
type Endpoint struct {
	Server   *http.Server
	Listener net.Listener
}

// Service is a process's servers and how they end together.
type Service struct {
	// Public servers are drained.
	Public []Endpoint
	// Probes answers until the drain is over.
	Probes Endpoint
	// Readiness fails when the drain begins.
	Readiness *Readiness
	// DrainDelay is how long connections are still accepted after that, for
	// those who have not heard of it: endpoints lag the signal by seconds.
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight then have to end. Delay and
	// timeout together must fit into the pod's grace period.
	DrainTimeout time.Duration
	Log          *slog.Logger
}

// Serve serves until ctx ends and then drains. It owns the listeners. It
// returns when every server has ended, with the error of a listener; requests
// that were cut off at the end of the drain are logged and no error.
func (s *Service) Serve(ctx context.Context) error {
	// Requests outlive ctx, which only begins the drain.
	base, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	endpoints := append([]Endpoint{s.Probes}, s.Public...)
	ended := make(chan error, len(endpoints))
	for _, e := range endpoints {
		if e.Server.BaseContext == nil {
			e.Server.BaseContext = func(net.Listener) context.Context { return base }
		}
		go func() { ended <- e.serve() }()
	}
	var err error
	running := len(endpoints)
	select {
	case err = <-ended: // A listener broke; the others have nobody to answer to.
		running--
	case <-ctx.Done():
		s.drain(base)
	}
	for _, e := range endpoints {
		err = errors.Join(err, e.Server.Close())
	}
	for ; running > 0; running-- {
		err = errors.Join(err, <-ended)
	}
	return err
}

func (e Endpoint) serve() error {
	if err := e.Server.Serve(e.Listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", e.Listener.Addr(), err)
	}
	return nil
}

// drain ends the public servers, all under one budget.
func (s *Service) drain(ctx context.Context) {
	s.Readiness.draining.Store(true)
	s.Log.InfoContext(ctx, "draining", "delay", s.DrainDelay, "timeout", s.DrainTimeout)
	time.Sleep(s.DrainDelay)
	ctx, cancel := context.WithTimeout(ctx, s.DrainTimeout)
	defer cancel()
	drained := make(chan error, len(s.Public))
	for _, e := range s.Public {
		go func() { drained <- e.Server.Shutdown(ctx) }()
	}
	for range s.Public {
		if err := <-drained; err != nil {
			s.Log.WarnContext(ctx, "requests were cut off at the end of the drain", "error", err)
		}
	}
}
