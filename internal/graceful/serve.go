// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package graceful

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// quietFor is how long a drained server must be without requests before its
	// connections are closed: many times the round trip of an answer to its
	// client and the client's next request.
	quietFor = time.Second
	// quietTick is how often that is looked at.
	quietTick = 100 * time.Millisecond
	// shutdownLead is how long before the end of a drain the servers are shut down
	// although requests are in flight.
	shutdownLead = 5 * time.Second
)

// Endpoint is a server and where it listens.
type Endpoint struct {
	Server   *http.Server
	Listener net.Listener
	// OnDrain is called when connections are no longer accepted. It must end
	// streams that do not end by themselves, since Shutdown is called after it.
	// It may be nil.
	OnDrain func()
	// Wait returns when work that outlives its answers has ended, or ctx ends.
	// It is called when the server has been shut down. It may be nil.
	Wait func(ctx context.Context)
}

// Service is a process's servers and how they end together.
type Service struct {
	// Public servers are drained.
	Public []Endpoint
	// Probes answers until the drain is over.
	Probes Endpoint
	// Readiness fails when the drain begins. While it fails, each answer of a
	// public server asks its client to reconnect.
	Readiness *Readiness
	// DrainDelay is how long connections are still accepted after that, for
	// clients that do not know yet: endpoints lag the signal by seconds.
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight then have to end. Delay and
	// timeout together must fit into the pod's grace period. Meanwhile requests
	// are still accepted on existing connections: if an answer began before the
	// drain, its client was not told to reconnect, and sends the next request
	// the moment that answer ends.
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
	var public traffic
	for _, e := range s.Public {
		e.Server.Handler = public.count(e.Server.Handler, s.Readiness.Ready)
		e.Server.ConnState = public.connection
	}
	endpoints := append([]Endpoint{s.Probes}, s.Public...)
	ended := make(chan error, len(endpoints))
	for _, e := range endpoints {
		if e.Server.BaseContext == nil {
			e.Server.BaseContext = func(net.Listener) context.Context { return base }
		}
		go func() { ended <- s.listen(e) }()
	}
	var err error
	running := len(endpoints)
	select {
	case err = <-ended: // A listener broke; the others have nobody to answer to.
		running--
	case <-ctx.Done():
		s.drain(base, &public)
	}
	for _, e := range endpoints {
		err = errors.Join(err, e.Server.Close())
	}
	for ; running > 0; running-- {
		err = errors.Join(err, <-ended)
	}
	return err
}

// listen serves e until its server ends or, in a drain, its listener.
func (s *Service) listen(e Endpoint) error {
	err := e.Server.Serve(e.Listener)
	if errors.Is(err, http.ErrServerClosed) || s.Readiness.draining.Load() && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", e.Listener.Addr(), err)
}

// drain ends the public servers, all under one budget.
func (s *Service) drain(ctx context.Context, public *traffic) {
	s.Readiness.draining.Store(true)
	s.Log.InfoContext(ctx, "draining", "delay", s.DrainDelay, "timeout", s.DrainTimeout)
	time.Sleep(s.DrainDelay)
	ctx, cancel := context.WithTimeout(ctx, s.DrainTimeout)
	defer cancel()
	for _, e := range s.Public {
		if err := e.Listener.Close(); err != nil {
			s.Log.WarnContext(ctx, "close the listener", "address", e.Listener.Addr().String(), "error", err)
		}
		if e.OnDrain != nil {
			e.OnDrain()
		}
	}
	// Shutdown then tells the remaining connections that they end, as HTTP/2
	// can.
	waiting, cancel := context.WithTimeout(ctx, s.DrainTimeout-min(shutdownLead, s.DrainTimeout/2))
	defer cancel()
	public.waitUntilQuiet(waiting)
	drained := make(chan error, len(s.Public))
	for _, e := range s.Public {
		go func() { drained <- e.Server.Shutdown(ctx) }()
	}
	for range s.Public {
		// An already closed listener is no error.
		if err := <-drained; err != nil && !errors.Is(err, net.ErrClosed) {
			s.Log.WarnContext(ctx, "requests were cut off at the end of the drain", "error", err)
		}
	}
	for _, e := range s.Public {
		if e.Wait != nil {
			e.Wait(ctx)
		}
	}
}

// traffic counts the work of all public servers.
type traffic struct {
	// connections are open; begun and ended count requests.
	connections, begun, ended atomic.Int64
}

// connection counts a connection. Those of HTTP/2 begin and end like others.
func (t *traffic) connection(_ net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		t.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		t.connections.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// count counts what next serves. While the process is not ready, each answer
// that has not begun asks its client to reconnect.
func (t *traffic) count(next http.Handler, ready func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.begun.Add(1)
		defer t.ended.Add(1)
		if !ready() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// waitUntilQuiet returns when there is no connection, no request has been in flight for
// quietFor, or ctx ends.
func (t *traffic) waitUntilQuiet(ctx context.Context) {
	ticker := time.NewTicker(quietTick)
	defer ticker.Stop()
	seen, since := t.begun.Load(), time.Now()
	for t.connections.Load() > 0 && time.Since(since) < quietFor {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// In this order: a request that ends between the two counts as in flight.
		ended, begun := t.ended.Load(), t.begun.Load()
		if begun != seen || begun != ended {
			seen, since = begun, time.Now()
		}
	}
}
