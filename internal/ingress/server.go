// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/activator"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/proxy"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Routes is what is known of users, keys and pods.
type Routes = activator.Routes

// Activity is told how bridges are used, for their status.
type Activity interface {
	proxy.Activity
	// Wake has a bridge woken that sleeps, and may find that it does not. It does
	// not wait for the bridge.
	Wake(ctx context.Context, b route.Backend) error
	// KeyUsed notes that the bridge was called with the key of that id.
	KeyUsed(b route.Backend, keyID string, at time.Time)
}

// AuditTrail takes the entries of tool calls and of administrators' acts. When
// Write has returned nil, the entry is written.
type AuditTrail interface {
	Write(entry audit.Entry) error
}

// Config is the ingress's own part of the configuration.
type Config struct {
	// AllowedOrigins are the origins of browser clients, such as
	// https://app.example.com.
	AllowedOrigins []string
	// AllowedHosts are the names under which the service is known, without
	// port; any when empty.
	AllowedHosts []string
	// Wait is how long a request waits for a bridge that starts.
	Wait time.Duration
	// MaxHeldPerUser and MaxHeld bound the requests that wait at once.
	MaxHeldPerUser, MaxHeld int
	// MaxDormant bounds the streams that are kept open for clients that listen to
	// bridges that sleep or are suspended; 2048 when zero. One user may have MaxHeldPerUser.
	MaxDormant int
	// MaxBodyMemory bounds the bytes of all request bodies in memory at once;
	// one user may take a quarter of it. It is at least 16 MiB, so that every
	// user can send the largest body.
	MaxBodyMemory int64
	// BodyTimeout is how long a request's body may take to come; 30 s when
	// zero.
	BodyTimeout time.Duration
	// IdleTimeout is after how long a connection without a request is closed; 75 s
	// when zero. It is to be longer than what a load balancer in front waits, so
	// that the load balancer closes, and no request meets our closing.
	IdleTimeout time.Duration
	// KeepAlive is after how much silence an event stream gets a comment; 15 s
	// when zero.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take none of what is written to
	// it; 30 s when zero.
	WriteTimeout time.Duration
	// DrainTimeout is how long requests have to end after Drain was called.
	// Shortly before, those that have not are ended with an answer. None are when
	// zero.
	DrainTimeout time.Duration
	// TrustedProxies are the addresses of proxies in front, whose
	// X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// CatalogReads is how many requests in a second one source may make of what
	// anyone may read of the catalog, on average; no limit when zero.
	CatalogReads int
	// CatalogWrites is how many requests in a second the keys of one publisher
	// may make, on average; no limit when zero.
	CatalogWrites int
	// LoginRequests is how many requests in a second one source may make to log in
	// and for tokens, on average; no limit when zero. The servers of one vendor's
	// client are one source.
	LoginRequests int
	// LegacySSE serves the transport of 2024-11-05, HTTP+SSE, at /u/:userId/sse.
	LegacySSE bool
}

// Validate reports what is wrong with the origins and hosts.
func (c Config) Validate() error {
	_, err := authn.NewOrigins(c.AllowedOrigins, c.AllowedHosts)
	return err
}

// Deps are the parts that the ingress stands on. None may be nil but Tracer,
// OAuth and Kept.
type Deps struct {
	Routes  Routes
	Bridges *bridgeclient.Client
	// Kept has what bridges answered last. Where it is nil nothing is kept.
	Kept     *keptanswers.Keeper
	Activity Activity
	Audit    AuditTrail
	Quotas   limits.Counts
	// Tiers returns the installation's tiers as they are now.
	Tiers func() quota.Tiers
	// Hasher hides addresses and sessions in audit entries.
	Hasher *audit.Hasher
	// Features are what is served beside users' bridges.
	Features []httpapi.Feature
	// OAuth is by which access tokens are accepted. Where it is nil none are.
	OAuth *authn.OAuth
	// AdminKey returns the key of the installation's administrators, empty
	// while it is not set. It is asked at each of their requests.
	AdminKey func() []byte
	Metrics  prometheus.Registerer
	// Tracer begins the spans of requests. Where it is nil there are none.
	Tracer trace.Tracer
	Log    *slog.Logger
}

func (d Deps) complete() bool {
	return !slices.Contains([]bool{
		d.Routes != nil, d.Bridges != nil, d.Activity != nil,
		d.Quotas != nil, d.Tiers != nil, d.Audit != nil, d.Hasher != nil,
		d.AdminKey != nil, d.Metrics != nil, d.Log != nil,
	}, false)
}

// Server serves the public surface.
type Server struct {
	config   Config
	paths    *paths
	access   *access
	observer *observer
	tracker  *inflight.Tracker
	router   *router
	linger   *lingering
	// handler is the router's, for the paths that were checked.
	handler http.Handler
	// messages are those of HTTP+SSE that are being served.
	messages sync.WaitGroup
}

// New returns a server, or an error that says what of config is wrong.
func New(config Config, deps Deps) (*Server, error) {
	if !deps.complete() {
		return nil, errors.New("ingress: a dependency is missing")
	}
	config.BodyTimeout = cmp.Or(config.BodyTimeout, bodyTimeout)
	s := &Server{config: config, linger: newLingering(config.BodyTimeout), paths: &paths{features: newFeatures(deps.Features)}}
	err := s.build(deps)
	if err == nil {
		s.handler, err = s.router.handler()
	}
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	return s, nil
}

// build makes the parts that a request goes through.
func (s *Server) build(deps Deps) error {
	var err error
	if s.access, err = newAccess(s.config, deps); err != nil {
		return err
	}
	m, err := newMetrics(deps.Metrics)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	s.observer = &observer{log: deps.Log, metrics: m, tracer: deps.Tracer}
	if s.tracker, err = inflight.New(inflight.Options{
		Routes: deps.Routes, Metrics: deps.Metrics,
		KeepAlive: s.config.KeepAlive, WriteTimeout: s.config.WriteTimeout, DrainTimeout: s.config.DrainTimeout,
	}); err != nil {
		return err
	}
	calls, err := callaudit.New(callaudit.Options{Sink: deps.Audit, Hasher: deps.Hasher, Metrics: deps.Metrics, Log: deps.Log})
	if err != nil {
		return err
	}
	sender, err := s.newProxy(deps)
	if err != nil {
		return err
	}
	s.router = &router{
		config: &s.config, routes: deps.Routes, paths: s.paths, access: s.access, observer: s.observer, tracker: s.tracker, proxy: sender,
		auditor: &auditor{calls: calls, acts: deps.Audit, routes: deps.Routes, hasher: deps.Hasher},
		bounds: &bounds{
			quota: limits.NewQuota(deps.Quotas, deps.Tiers), uncounted: limits.NewUncounted(),
			memory: limits.NewPools(s.config.MaxBodyMemory),
			bridge: s.access.authn.Bridge, config: &s.config,
		},
	}
	return nil
}

func newAccess(config Config, deps Deps) (*access, error) {
	origins, err := authn.NewOrigins(config.AllowedOrigins, config.AllowedHosts)
	if err != nil {
		return nil, err
	}
	a, err := authn.New(authn.Options{Routes: deps.Routes, Activity: deps.Activity, OAuth: deps.OAuth, AdminKey: deps.AdminKey, Metrics: deps.Metrics})
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &access{authn: a, origins: origins, oauth: deps.OAuth, forms: http.NewCrossOriginProtection()}, nil
}

// newProxy returns the way to bridges, which wakes those that sleep.
func (s *Server) newProxy(deps Deps) (*proxy.Proxy, error) {
	waker, err := activator.New(activator.Options{
		Routes: deps.Routes, Wake: deps.Activity.Wake, Ready: deps.Bridges.Ready,
		MaxWaitingPerUser: s.config.MaxHeldPerUser, MaxWaiting: s.config.MaxHeld, Metrics: deps.Metrics, Log: deps.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return proxy.New(proxy.Options{
		Bridges: deps.Bridges, Activity: deps.Activity, Activator: waker, Tracker: s.tracker, Bridge: s.access.authn.Bridge,
		Wait: s.config.Wait, MaxDormantPerUser: s.config.MaxHeldPerUser, MaxDormant: s.config.MaxDormant, Metrics: deps.Metrics, Kept: deps.Kept,
	})
}
