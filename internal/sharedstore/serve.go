// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharedstore is the process that keeps what all ingresses share, the counts of
// quotas and the index of audit entries, and the bundles of programs.
package sharedstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/answerstore"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundlestore"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// readTimeout is for a question of some MiB within a cluster.
	readTimeout = 10 * time.Second
	// writeTimeout is for a question and its answer. Ingresses wait less.
	writeTimeout = time.Minute
	// drainTimeout is how long calls in flight have to end. Ingresses go by their
	// share meanwhile, so that a short end is the best.
	drainTimeout = 4 * time.Second
	// connectionFor is how long a connection is in use, so that a certificate
	// that has expired does not stay in use for ever.
	connectionFor = time.Hour
)

// Run keeps counts and entries until ctx ends.
func Run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parse(args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	s, err := newServer(ctx, &o, log)
	if err != nil {
		return err
	}
	service, err := s.listen(ctx, &o)
	if err != nil {
		return err
	}
	return s.serve(ctx, service)
}

// server keeps what all ingresses share.
type server struct {
	source  *client.Source
	counts  *quotastore.Counter
	index   *index.Store
	answers *answerstore.Store
	handler http.Handler
	// bundles serves bundles, nil if there are none.
	bundles http.Handler
	metrics *prometheus.Registry
	ready   *graceful.Readiness
	log     *slog.Logger
}

func newServer(ctx context.Context, o *Options, log *slog.Logger) (*server, error) {
	broker, err := client.New(client.Config{URL: o.KeybrokerURL, CAPEM: []byte(o.KeybrokerCA), TokenFile: o.TokenFile, Log: log})
	if err != nil {
		return nil, fmt.Errorf("keybroker: %w", err)
	}
	source := client.NewSource(broker, clock.System{})
	s := &server{
		source:  source,
		counts:  quotastore.OpenCounter(filepath.Join(o.Directory, "quotas.json"), clock.System{}, log),
		index:   index.Later(func() (*index.Store, error) { return index.OpenSQLite(filepath.Join(o.Directory, "audit.db")) }),
		metrics: telemetry.NewRegistry("store"),
		ready:   &graceful.Readiness{Check: source.Ready},
		log:     log,
	}
	if s.answers, err = answerstore.Open(ctx, filepath.Join(o.Directory, "answers.db"), clock.System{}); err != nil {
		log.ErrorContext(ctx, "answers of bridges are not kept: first requests of a bridge that sleeps wait for it", "error", err)
	}
	mux := http.NewServeMux()
	s.counts.Register(mux)
	s.index.Register(mux)
	s.answers.Register(mux)
	if err := telemetry.Register(s.metrics, s.ready.Gauge("store")); err != nil {
		return nil, err
	}
	if s.handler, err = register(s.metrics, source.Expiry, mux); err != nil {
		return nil, err
	}
	return s, s.openBundles(o)
}

// openBundles opens the bundles, if there is a directory for them.
func (s *server) openBundles(o *Options) error {
	if o.BundlesDirectory == "" {
		return nil
	}
	bundles, err := bundlestore.Open(bundlestore.Config{
		Directory: o.BundlesDirectory, MaxTotal: o.BundlesMaxBytes, MaxBundle: o.BundleMaxBytes, Clock: clock.System{},
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	bundles.Register(mux, s.log)
	s.bundles = mux
	return bundles.RegisterMetrics(s.metrics)
}

// register registers the store's metrics, and returns a handler that counts
// what next serves.
func register(metrics prometheus.Registerer, expiry func() time.Time, next http.Handler) (http.Handler, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hostedbridge_store_requests_total",
		Help: "Requests of ingresses by status code.",
	}, []string{"code"})
	telemetry.Begin(requests, "200")
	err := telemetry.Register(metrics, requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostedbridge_store_certificate_expiry_timestamp_seconds",
		Help: "When the certificate ends by which ingresses recognise this process, in seconds since 1970; 0 while it has none.",
	}, func() float64 {
		if end := expiry(); !end.IsZero() {
			return float64(end.Unix())
		}
		return 0
	}))
	return promhttp.InstrumentHandlerCounter(requests, next), err
}

// listen returns the servers, which listen.
func (s *server) listen(ctx context.Context, o *Options) (*graceful.Service, error) {
	service := &graceful.Service{Readiness: s.ready, DrainTimeout: drainTimeout, Log: s.log}
	calls := []struct {
		address string
		handler http.Handler
		config  *tls.Config
	}{{o.Listen, s.handler, s.source.ServerTLS(pki.IngressURI())}, {o.BundlesListen, s.bundles, s.source.BundlesTLS()}}
	for _, c := range calls {
		if c.handler == nil {
			continue
		}
		l, err := listenAt(ctx, service, c.address)
		if err != nil {
			return nil, err
		}
		service.Public = append(service.Public, graceful.Endpoint{Server: s.http(c.handler), Listener: tls.NewListener(l, c.config)})
		s.log.InfoContext(ctx, "serving", "calls", l.Addr().String())
	}
	probes, err := listenAt(ctx, service, o.ProbeListen)
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "serving", "probes", probes.Addr().String())
	service.Probes = graceful.Endpoint{Server: graceful.NewProbes(s.ready, s.metrics, s.log), Listener: probes}
	return service, nil
}

// listenAt listens at an address. If that fails, it closes the listeners of the service.
func listenAt(ctx context.Context, service *graceful.Service, address string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		for _, e := range service.Public {
			err = errors.Join(err, e.Listener.Close())
		}
	}
	return l, err
}

// begun is the key of the time at which a connection began.
type begun struct{}

// http returns a server of the handler, which sets other times for what is longer.
func (s *server) http(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if at, ok := r.Context().Value(begun{}).(time.Time); ok && time.Since(at) > connectionFor {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, begun{}, time.Now())
		},
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       2 * jsoncall.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// serve serves until ctx ends. What is kept is written a last time when nobody
// asks any more.
func (s *server) serve(ctx context.Context, service *graceful.Service) error {
	serving, drain := context.WithCancel(ctx)
	defer drain()
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, working := errgroup.WithContext(working)
	defer context.AfterFunc(working, drain)()
	group.Go(func() error { return s.source.Run(working) })
	group.Go(func() error { return s.counts.Run(working) })
	group.Go(func() error { return s.index.Run(working, s.log) })
	group.Go(func() error {
		defer end()
		return service.Serve(serving)
	})
	return errors.Join(group.Wait(), s.answers.Close())
}
