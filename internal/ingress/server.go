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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/surface"
	"github.com/hostedbridge/hostedbridge/internal/usage"
)

// Routes is what is known of users, keys and pods.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
	// Changed returns a channel that is closed at the next snapshot.
	Changed() <-chan struct{}
}

// Reports are the bridges' last health reports.
type Reports interface {
	Report(bridge types.UID) (health.Report, bool)
}

// Activity is told how bridges are used, for their status.
type Activity interface {
	Called(b route.Backend, at time.Time)
	// Began and Ended enclose a call. Between them its bridge is in use at each
	// moment.
	Began(b route.Backend, at time.Time)
	Ended(b route.Backend, at time.Time)
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
	// MaxResting bounds the streams that are kept open for clients that listen to
	// bridges that sleep or are suspended; 2048 when zero. One user may have MaxHeldPerUser.
	MaxResting int
	// MaxBodyMemory bounds the bytes of all request bodies in memory at once;
	// one user may take a quarter of it. It is at least 16 MiB, so that every
	// user can send the largest body.
	MaxBodyMemory int64
	// BodyTimeout is how long a request's body may take to come; 30 s when
	// zero.
	BodyTimeout time.Duration
	// IdleTimeout is after how long a connection without a request is closed; 75 s
	// when zero. It is to be longer than what a load balancer in front waits, so
	// that it is that one who closes, and no request meets our closing.
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
	_, err := newOrigins(c.AllowedOrigins, c.AllowedHosts)
	return err
}

// Deps are the parts that the ingress stands on. None may be nil but Tracer,
// Catalog, OAuth and Login.
type Deps struct {
	Routes   Routes
	Bridges  *Bridges
	Reports  Reports
	Activity Activity
	Secrets  UserSecrets
	Audit    AuditTrail
	Quotas   Quotas
	// Tiers returns the installation's tiers as they are now.
	Tiers func() quota.Tiers
	// Hasher hides addresses and sessions in audit entries.
	Hasher *audit.Hasher
	// AuditIndex is what administrators ask for entries; NoAuditIndex where
	// there is none.
	AuditIndex AuditIndex
	// Inventory returns what the installation has, or an error while that is not
	// known.
	Inventory func(context.Context) (usage.Inventory, error)
	// Keys are what administrators add keys to and remove them from.
	Keys UserKeys
	// Catalog serves recipes. Where it is nil there are none.
	Catalog surface.Part
	// OAuth is by which access tokens are accepted. Where it is nil none are.
	OAuth *OAuth
	// Login is the installation's own authorization server, whose tokens are
	// accepted by OAuth. Where it is nil there is none.
	Login surface.Part
	// AdminKey returns the key of the installation's administrators, empty
	// while there is none. It is asked at each of their requests.
	AdminKey func() []byte
	Metrics  prometheus.Registerer
	// Tracer begins the spans of requests. Where it is nil there are none.
	Tracer trace.Tracer
	Log    *slog.Logger
}

func (d Deps) complete() bool {
	return !slices.Contains([]bool{
		d.Routes != nil, d.Bridges != nil, d.Reports != nil, d.Activity != nil, d.Secrets != nil,
		d.Quotas != nil, d.Tiers != nil, d.Audit != nil, d.Hasher != nil, d.AuditIndex != nil, d.Inventory != nil,
		d.Keys != nil, d.AdminKey != nil, d.Metrics != nil, d.Log != nil,
	}, false)
}

// Server serves the public surface.
type Server struct {
	config   Config
	log      *slog.Logger
	routes   Routes
	reports  Reports
	activity Activity
	secrets  UserSecrets
	origins  *origins
	metrics  *metrics
	hold     *hold
	resting  *places
	free     *places
	// wakeMetrics are those of bridges that sleep.
	wakeMetrics *wakeMetrics
	quotas      Quotas
	tiers       func() quota.Tiers
	policies    policies
	trails      *trails
	audit       AuditTrail
	hasher      *audit.Hasher
	adminKey    func() []byte
	keys        UserKeys
	attempts    *attempts
	auditIndex  AuditIndex
	inventory   func(context.Context) (usage.Inventory, error)
	counting    chan struct{} // Full while calls are counted.
	parts       []*part
	oauth       *OAuth
	writes      *limiter
	keyUses     keyUses
	bodies      *bodies
	strangers   *bodies // of those who have no key.
	calls       *openCalls
	tracer      trace.Tracer
	delivery    *delivery
	public      http.Handler
}

// New returns a server, or an error that says what of config is wrong.
func New(config Config, deps Deps) (*Server, error) {
	if !deps.complete() {
		return nil, errors.New("ingress: a dependency is missing")
	}
	config.BodyTimeout = cmp.Or(config.BodyTimeout, bodyTimeout)
	origins, err := newOrigins(config.AllowedOrigins, config.AllowedHosts)
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	m, err := newMetrics(deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("ingress: register metrics: %w", err)
	}
	a, err := newAttempts(deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("ingress: register metrics: %w", err)
	}
	cm, err := newCallMetrics(deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	trails, err := newTrails(deps)
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	wm, err := newWakeMetrics(deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("ingress: register metrics: %w", err)
	}
	d := &dropped{}
	found, err := newCandidates(deps.Routes, d, deps.Bridges.Ready, deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("ingress: register metrics: %w", err)
	}
	h := &hold{
		routes: deps.Routes, metrics: m, wakes: newWakes(deps.Activity.Wake, wm, deps.Log),
		dropped: d, candidates: found,
		waiting: newPlaces(config.MaxHeldPerUser, config.MaxHeld),
	}
	s := &Server{
		config: config, log: deps.Log,
		routes: deps.Routes, reports: deps.Reports, activity: deps.Activity,
		secrets: deps.Secrets, quotas: deps.Quotas, tiers: deps.Tiers, audit: deps.Audit, hasher: deps.Hasher, adminKey: deps.AdminKey, keys: deps.Keys, auditIndex: deps.AuditIndex, inventory: deps.Inventory, counting: make(chan struct{}, 1), attempts: a,
		origins: origins, metrics: m, hold: h, wakeMetrics: wm, resting: newPlaces(config.MaxHeldPerUser, cmp.Or(config.MaxResting, maxResting)), free: newFree(), trails: trails, bodies: newBodies(config.MaxBodyMemory, userShare), strangers: newBodies(maxStrangersMemory, strangersShare),
		calls:  newOpenCalls(config, deps.Routes, cm),
		tracer: deps.Tracer,
		parts:  newParts(config, deps), oauth: deps.OAuth.cached(), writes: newRate(config.CatalogWrites),
		delivery: &delivery{bridges: deps.Bridges.pool, hold: h, metrics: m},
	}
	s.public, err = s.handler()
	if err != nil {
		return nil, fmt.Errorf("ingress: %w", err)
	}
	return s, nil
}
