// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/quota/counter"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const storeUsage = `Keep the counts of quotas and the index of audit entries for all ingresses.

Usage: ingress store --directory=/var/lib/hosted-bridge [flags]

`

// envKeybrokerCA is the environment's variable with the keybroker's CA
// certificate: this process reads nothing from the API server.
const envKeybrokerCA = "KEYBROKER_CA"

const (
	// storeReadTimeout is for a question of some MiB within a cluster.
	storeReadTimeout = 10 * time.Second
	// storeWriteTimeout is for a question and its answer. Ingresses wait less.
	storeWriteTimeout = time.Minute
	// storeDrain is how long calls in flight have to end. Ingresses go by their
	// share meanwhile, so that a short end is the best.
	storeDrain = 4 * time.Second
	// connectionFor is how long a connection is in use, so that a certificate
	// that has expired does not stay in use for ever.
	connectionFor = time.Hour
)

// storeOptions are the settings of the store.
type storeOptions struct {
	Listen       string
	ProbeListen  string
	Namespace    string
	KeybrokerURL string
	// KeybrokerCA comes from the environment.
	KeybrokerCA string
	TokenFile   string
	Directory   string
	LogLevel    string
}

func defaultStoreOptions() storeOptions {
	d := defaults()
	return storeOptions{Listen: ":8443", ProbeListen: d.ProbeListen, Namespace: d.Namespace, TokenFile: d.TokenFile, LogLevel: d.LogLevel}
}

func (o *storeOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", o.Listen, "address of the calls of ingresses, over mutual TLS")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz, /readyz and /metrics")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)")
	fs.StringVar(&o.TokenFile, "token-file", o.TokenFile, "projected service-account token for the keybroker")
	fs.StringVar(&o.Directory, "directory", o.Directory, "directory of the counts and of the index; one process at a time may use it")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

func (o *storeOptions) validate() error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	for flag, address := range map[string]string{"listen": o.Listen, "probe-listen": o.ProbeListen} {
		_, _, err := net.SplitHostPort(address)
		check(err == nil, "--"+flag+" must be an address such as :8443")
	}
	u, err := url.Parse(o.KeybrokerURL)
	check(err == nil && u.Scheme == "https" && u.Host != "", "--keybroker-url must be an https URL")
	check(o.Directory != "", "--directory must be set")
	check(o.KeybrokerCA != "", "the environment must have "+envKeybrokerCA+", the keybroker's certificate in PEM")
	return errors.Join(errs...)
}

// parseStore reads the command line and the environment.
func parseStore(args []string, getenv func(string) string, stderr io.Writer) (storeOptions, error) {
	o := defaultStoreOptions()
	fs := pflag.NewFlagSet("ingress store", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, storeUsage+fs.FlagUsages()) }
	o.registerFlags(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not expected", fs.Arg(0))
	}
	if o.KeybrokerURL == "" {
		o.KeybrokerURL = keybrokerOf(o.Namespace)
	}
	o.KeybrokerCA = getenv(envKeybrokerCA)
	return o, o.validate()
}

// runStore keeps counts and entries until ctx ends.
func runStore(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parseStore(args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stderr, o.LogLevel)
	if err != nil {
		return err
	}
	s, err := newStoreServer(&o, log)
	if err != nil {
		return err
	}
	service, err := s.listen(ctx, &o)
	if err != nil {
		return err
	}
	return s.serve(ctx, service)
}

// storeServer keeps what all ingresses share.
type storeServer struct {
	source  *client.Source
	counts  *counter.Counter
	index   *index.Store
	handler http.Handler
	metrics *prometheus.Registry
	ready   *graceful.Readiness
	log     *slog.Logger
}

func newStoreServer(o *storeOptions, log *slog.Logger) (*storeServer, error) {
	broker, err := client.New(client.Config{URL: o.KeybrokerURL, CAPEM: []byte(o.KeybrokerCA), TokenFile: o.TokenFile, Log: log})
	if err != nil {
		return nil, fmt.Errorf("keybroker: %w", err)
	}
	source := client.NewSource(broker, clock.System{})
	s := &storeServer{
		source:  source,
		counts:  counter.Open(filepath.Join(o.Directory, "quotas.json"), clock.System{}, log),
		index:   index.Later(func() (*index.Store, error) { return index.OpenSQLite(filepath.Join(o.Directory, "audit.db")) }),
		metrics: telemetry.NewRegistry("store"),
		ready:   &graceful.Readiness{Check: source.Ready},
		log:     log,
	}
	mux := http.NewServeMux()
	s.counts.Register(mux)
	s.index.Register(mux)
	if err := telemetry.Register(s.metrics, s.ready.Gauge("store")); err != nil {
		return nil, err
	}
	s.handler, err = registerStore(s.metrics, source.Expiry, mux)
	return s, err
}

// registerStore registers the store's metrics, and returns a handler that counts
// what next serves.
func registerStore(metrics prometheus.Registerer, expiry func() time.Time, next http.Handler) (http.Handler, error) {
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
func (s *storeServer) listen(ctx context.Context, o *storeOptions) (*graceful.Service, error) {
	var listener net.ListenConfig
	public, err := listener.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	probes, err := listener.Listen(ctx, "tcp", o.ProbeListen)
	if err != nil {
		return nil, errors.Join(err, public.Close())
	}
	s.log.InfoContext(ctx, "serving", "ingresses", public.Addr().String(), "probes", probes.Addr().String())
	return &graceful.Service{
		Public:    []graceful.Endpoint{{Server: s.server(), Listener: tls.NewListener(public, s.source.ServerTLS(pki.IngressURI()))}},
		Probes:    graceful.Endpoint{Server: graceful.NewProbes(s.ready, s.metrics, s.log), Listener: probes},
		Readiness: s.ready, DrainTimeout: storeDrain, Log: s.log,
	}, nil
}

// begun is the key of the time at which a connection began.
type begun struct{}

func (s *storeServer) server() *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if at, ok := r.Context().Value(begun{}).(time.Time); ok && time.Since(at) > connectionFor {
				w.Header().Set("Connection", "close")
			}
			s.handler.ServeHTTP(w, r)
		}),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, begun{}, time.Now())
		},
		ReadHeaderTimeout: storeReadTimeout,
		ReadTimeout:       storeReadTimeout,
		WriteTimeout:      storeWriteTimeout,
		IdleTimeout:       2 * jsoncall.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// serve serves until ctx ends. What is kept is written a last time when nobody
// asks any more.
func (s *storeServer) serve(ctx context.Context, service *graceful.Service) error {
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
	return group.Wait()
}
