// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// readHeaderTimeout ends connections that open and say nothing.
	readHeaderTimeout = 10 * time.Second
	// maxHeader is 32 KiB: some proxies add cookies and traces of their own,
	// and no client of MCP comes near.
	maxHeader = 32 << 10
	// keepAlive is longer than the 60 s after which common load balancers
	// close, so that it is they who close and no request meets our closing.
	keepAlive = 75 * time.Second
	// maxStreams is per HTTP/2 connection, which a load balancer may share
	// among many users.
	maxStreams = 1000
	// pingAfter and pingTimeout find HTTP/2 clients that vanished while an
	// answer streams.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// Serve serves until ctx ends and then drains: it fails the readiness probe,
// goes on accepting for DrainDelay, gives what is in flight DrainTimeout, and
// closes. It owns both listeners. Its error is that of a listener or of a
// drain that took too long.
func (s *Server) Serve(ctx context.Context, public, probes net.Listener) error {
	// Requests outlive ctx, which only begins the drain.
	base, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	front := s.frontServer(base)
	side := &http.Server{
		Handler: s.probes(), ReadHeaderTimeout: readHeaderTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 2)
	go func() { ended <- serveOn(front, public) }()
	go func() { ended <- serveOn(side, probes) }()

	var err error
	running := 2
	select {
	case err = <-ended:
		running--
	case <-ctx.Done():
		err = s.drain(base, front)
	}
	err = errors.Join(err, front.Close(), side.Close())
	for ; running > 0; running-- {
		err = errors.Join(err, <-ended)
	}
	s.transport.CloseIdleConnections()
	return err
}

// frontServer has no read and no write timeout: both would end streams, and
// readBody sets the deadline that bodies need.
func (s *Server) frontServer(base context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      s.public,
		BaseContext:                  func(net.Listener) context.Context { return base },
		Protocols:                    protocols,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  keepAlive,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		// Broken handshakes and requests of the whole internet; not warnings.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func (s *Server) drain(ctx context.Context, front *http.Server) error {
	s.draining.Store(true)
	s.log.Info("draining", "delay", s.config.DrainDelay, "timeout", s.config.DrainTimeout)
	time.Sleep(s.config.DrainDelay)
	ctx, cancel := context.WithTimeout(ctx, s.config.DrainTimeout)
	defer cancel()
	if err := front.Shutdown(ctx); err != nil {
		// Streams without an end are expected here; their clients come back
		// to another replica.
		s.log.Warn("requests were cut off at the end of the drain", "error", err)
	}
	return nil
}

func serveOn(server *http.Server, l net.Listener) error {
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// probes is the cluster's own surface, on a listener that no user reaches.
func (s *Server) probes() http.Handler {
	mux := http.NewServeMux()
	// Live as long as it answers: restarting it would mend neither the API
	// server nor the keybroker.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.draining.Load() || !s.ready() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.gatherer, promhttp.HandlerOpts{}))
	return mux
}
