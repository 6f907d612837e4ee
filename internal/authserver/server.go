// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// Options are what a Server is made of.
type Options struct {
	// Issuer is the installation's origin, without a path or a slash at its end:
	// https, or http on this machine.
	Issuer string
	// Name is what people read that the installation is called.
	Name  string
	Store flow.Store
	// Signer signs access tokens by keys of which Keys has the public halves.
	Signer flow.Signer
	Keys   flow.KeySet
	// Providers are where people log in, one at least.
	Providers []flow.Provider
	Users     flow.Users
	// Clients are those that an administrator configured.
	Clients []flow.Client
	// Documents reads the documents of clients, nil where they are no clients.
	Documents    flow.Documents
	Registration Registration
	// Invitations is whether administrators can invite people.
	Invitations bool
	// Connections has the accounts of users' servers, nil where none are connected.
	Connections flow.Connections
	// RedirectSchemes are the private-use schemes that clients may be answered at,
	// such as cursor.
	RedirectSchemes []string
	// AccessToken is how long an access token is good, 15 minutes if zero.
	// RefreshToken is after how long a person logs in anew whatever their client
	// does, 30 days if zero, and RefreshIdle after how long without a refresh, 14
	// days if zero.
	AccessToken, RefreshToken, RefreshIdle time.Duration
	// Random is the system's randomness.
	Random io.Reader
	// Now is the clock.
	Now     func() time.Time
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Registration is of clients that register themselves (RFC 7591).
type Registration struct {
	Enabled bool
	// MaxClients is how many there may be at a time, 10,000 if zero.
	MaxClients int
	// Lifetime is how long one is known that nobody uses any more, 30 days if zero.
	// One that no person has let in yet is known for four hours at most.
	Lifetime time.Duration
}

const (
	defaultAccessToken  = 15 * time.Minute
	defaultRefreshToken = 30 * 24 * time.Hour
	defaultRefreshIdle  = 14 * 24 * time.Hour
	defaultMaxClients   = 10_000
	defaultLifetime     = 30 * 24 * time.Hour
)

// Server is an authorization server. It is safe for concurrent use, and keeps
// nothing: what one request leaves for the next is in the store or in the
// browser.
type Server struct {
	Options

	clients   map[string]flow.Client
	providers map[string]flow.Provider
	redirects redirects
	cookie    cookie
	metadata  []byte
	pages     *pages
	metrics   *metrics
	room      room
}

var _ surface.Part = (*Server)(nil)

// New returns a Server, or what is wrong with its options.
func New(o Options) (*Server, error) {
	s := &Server{Options: o.withDefaults(), clients: map[string]flow.Client{}, providers: map[string]flow.Provider{}}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	s.cookie = cookieOf(o.Issuer)
	s.metadata = s.newMetadata()
	s.pages = newPages(s.Name)
	var err error
	s.metrics, err = newMetrics(o.Metrics)
	return s, err
}

func (o Options) withDefaults() Options {
	o.AccessToken = cmp.Or(o.AccessToken, defaultAccessToken)
	o.RefreshToken = cmp.Or(o.RefreshToken, defaultRefreshToken)
	o.RefreshIdle = cmp.Or(o.RefreshIdle, defaultRefreshIdle)
	o.Registration.MaxClients = cmp.Or(o.Registration.MaxClients, defaultMaxClients)
	o.Registration.Lifetime = cmp.Or(o.Registration.Lifetime, defaultLifetime)
	return o
}

// check returns what is wrong with the options, and leaves what it looked up.
func (s *Server) check() error {
	missing := []bool{s.Store == nil, s.Signer == nil, s.Keys == nil, s.Users == nil, s.Random == nil, s.Now == nil, s.Metrics == nil, s.Log == nil}
	if slices.Contains(missing, true) {
		return errors.New("a dependency is missing")
	}
	if err := checkIssuer(s.Issuer); err != nil {
		return err
	}
	if err := s.checkProviders(); err != nil {
		return err
	}
	var err error
	if s.redirects, err = newRedirects(s.Issuer, s.RedirectSchemes); err != nil {
		return err
	}
	for _, c := range s.Clients {
		if err := s.addClient(c); err != nil {
			return err
		}
	}
	return nil
}

func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || issuer != u.Scheme+"://"+u.Host {
		return errors.New("the issuer is not an origin, such as https://bridges.example.com")
	}
	if u.Scheme != schemeHTTPS && !isLoopbackOrigin(issuer) {
		return errors.New("the issuer is neither https nor on this machine")
	}
	return nil
}

var providerForm = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func (s *Server) checkProviders() error {
	if len(s.Providers) == 0 {
		return errors.New("there is no provider to log in at")
	}
	for _, p := range s.Providers {
		id := p.ID()
		if !providerForm.MatchString(id) || s.providers[id] != nil {
			return fmt.Errorf("provider %.40q: its id is not 1 to 32 of a-z, 0-9 and -, or is that of another", id)
		}
		s.providers[id] = p
	}
	return nil
}

func (s *Server) addClient(c flow.Client) error {
	if c.ID == "" || isDocument(c.ID) || c.Document || len(c.RedirectURIs) == 0 {
		return fmt.Errorf("client %.80q: it has no id of a configured client, or no redirect URI", c.ID)
	}
	if _, ok := s.clients[c.ID]; ok {
		return fmt.Errorf("client %.80q: its id is that of another", c.ID)
	}
	for _, uri := range c.RedirectURIs {
		if err := s.redirects.check(uri); err != nil {
			return fmt.Errorf("client %.80q: redirect URI: %w", c.ID, err)
		}
	}
	s.clients[c.ID] = c
	return nil
}
