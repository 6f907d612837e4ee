// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
)

// Options are what a Server is made of.
type Options struct {
	// Issuer is the installation's origin, without a path or a slash at its end:
	// https, or http on this machine.
	Issuer string
	// Name is what people read that the installation is called.
	Name string
	// Contact is whom people are told to ask, and Logo the path of a picture of this host;
	// both may be empty.
	Contact, Logo string
	Store         flow.Store
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
	Registration client.Registration
	// Invitations is whether administrators can invite people.
	Invitations bool
	// Connections has the accounts of users' servers, nil where none are connected.
	Connections flow.Connections
	// AccountOrigins are allowed for these accounts, although their tokens are made
	// elsewhere than where people log in.
	AccountOrigins []AccountOrigins
	// Roles are those of people who administer the installation. Without any, nobody gets
	// tokens for that.
	Roles []flow.Role
	// Shared finds the SharedServers that people own, nil where no groups are read.
	Shared SharedServers
	// Console begins sessions of the users' console, nil without a console.
	Console ConsoleLogin
	// Administrators begins sessions of the administrators' console for people with a role,
	// nil without that console.
	Administrators AdministratorLogin
	// RedirectSchemes are the private-use schemes that clients may be answered at,
	// such as cursor.
	RedirectSchemes []string
	// AccessToken is how long an access token is good, 15 minutes if zero.
	// RefreshToken is after how long a person logs in again whatever their client
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

// AccountOrigins are where people log in to an account, and where its tokens are
// made, both as oauth.Origin returns them.
type AccountOrigins struct {
	Authorization, Token string
}

const (
	defaultAccessToken  = 15 * time.Minute
	defaultRefreshToken = 30 * 24 * time.Hour
	defaultRefreshIdle  = 14 * 24 * time.Hour
)

// Server is an authorization server. It is safe for concurrent use, and keeps
// nothing: what one request leaves for the next is in the store or in the
// browser.
type Server struct {
	*core
	*registerHandler
	*invitationHandler
	*connectHandler
	*consentHandler
	*administerHandler
	*consoleHandler
	*loginHandler
	*authorizeHandler
	*tokenHandler
}

// core has what all endpoints share: the options, the providers, how an answer or
// a page is written, and how secrets are made.
type core struct {
	Options

	clients   *client.Registry
	grants    *grant.Grants
	providers map[string]flow.Provider
	redirects client.Redirects
	cookie    loginCookie
	metadata  []byte
	pages     *loginPages
	metrics   *metrics
	known     *providerStates
}

// New returns a Server, or what is wrong with its options.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	c := &core{Options: o, providers: map[string]flow.Provider{}}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	c.grants = &grant.Grants{Store: o.Store, Random: o.Random, Now: o.Now, Lifetime: o.RefreshToken, Idle: o.RefreshIdle}
	c.cookie = loginCookieOf(o.Issuer)
	c.metadata = c.newMetadata()
	c.pages = newPages(look{Installation: c.Name, Contact: c.Contact, Logo: c.Logo})
	var err error
	if c.metrics, err = newMetrics(c.Metrics, c.Providers); err != nil {
		return nil, err
	}
	c.known = &providerStates{List: c.Providers, Login: c.RefreshToken, Now: c.Now, Log: c.Log, Metrics: c.metrics}
	return newServer(c), nil
}

// ProviderHealth returns what this process knows of the providers.
func (s *Server) ProviderHealth() []flow.ProviderHealth { return s.known.Health() }

// newServer joins the endpoints.
func newServer(c *core) *Server {
	sessions := &loginSessions{c, newSealKeys(c.Store, c.Random, c.Now)}
	provider := &providerLogin{c, sessions}
	invitation := &invitationHandler{c, sessions, provider}
	connect := &connectHandler{c, sessions, provider}
	consent := &consentHandler{c, sessions}
	administer := &administerHandler{c, sessions, provider}
	console := &consoleHandler{c, sessions, provider, consent}
	return &Server{
		core: c, registerHandler: &registerHandler{c}, invitationHandler: invitation, connectHandler: connect, consentHandler: consent,
		administerHandler: administer, consoleHandler: console,
		loginHandler:     &loginHandler{c, sessions, provider, invitation, connect, consent, administer, console},
		authorizeHandler: &authorizeHandler{c, sessions, provider},
		tokenHandler:     &tokenHandler{c},
	}
}

func (o Options) withDefaults() Options {
	o.AccessToken = cmp.Or(o.AccessToken, defaultAccessToken)
	o.RefreshToken = cmp.Or(o.RefreshToken, defaultRefreshToken)
	o.RefreshIdle = cmp.Or(o.RefreshIdle, defaultRefreshIdle)
	return o
}

// check returns what is wrong with the options, and leaves what it looked up.
func (s *core) check() error {
	missing := []bool{s.Store == nil, s.Signer == nil, s.Keys == nil, s.Users == nil, s.Random == nil, s.Now == nil, s.Metrics == nil, s.Log == nil}
	if slices.Contains(missing, true) {
		return errors.New("a dependency is missing")
	}
	if err := client.CheckOrigin(s.Issuer); err != nil {
		return err
	}
	if err := s.checkProviders(); err != nil {
		return err
	}
	var err error
	if s.redirects, err = client.NewRedirects(s.Issuer, s.RedirectSchemes); err != nil {
		return err
	}
	s.clients, err = client.NewRegistry(client.RegistryOptions{
		Store: s.Store, Configured: s.Clients, Documents: s.Documents, Registration: s.Registration,
		Redirects: s.redirects, Random: s.Random, Now: s.Now,
	})
	return err
}

var providerForm = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func (s *core) checkProviders() error {
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

func (s *core) secret() (string, error) { return flow.NewSecret(s.Random) }

func (s *core) secrets(n int) ([]string, error) { return flow.NewSecrets(s.Random, n) }
