// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/authserver/loginstore"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/identity"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/jwks"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
)

// resourceName is what clients show as the name of what they log in to, where the
// configuration has no other.
const resourceName = "hosted-bridge"

// loginOptions say how users log in, if they do.
type loginOptions struct {
	// File is the configuration; empty for API keys alone.
	File string
	// Replicas is how many ingresses there are, as --replicas has it.
	Replicas int
}

// logins are what access tokens are checked by, and where they come from. The
// zero value is an installation of API keys alone.
type logins struct {
	// oauth is nil where no tokens are accepted, and server where the
	// installation has no authorization server of its own.
	oauth  *authn.OAuth
	server *authserver.Server
	// entries is the store of the own server, and keptIn its kind; nil without such a server.
	entries *loginstore.Store
	keptIn  string
	// shared is what owners of SharedServers are served with, nil where there can be none.
	shared *management.SharedOptions
	// console is the users' console, once its feature is made; nil for none.
	console *console.Console
	// sessions are the ends of sessions of both consoles.
	sessions *bridgestore.Sessions
	// These are what administrators see and do, and their console, once it is made.
	administration *management.Administration
	administrators *admin.Console
	// run are what runs beside the servers.
	run []func(context.Context) error
}

// readConfig reads the file that a flag names.
func readConfig[T any](flag, file string, parse func([]byte) (T, error)) (found T, err error) {
	content, err := os.ReadFile(file) //nolint:gosec // A flag names the file.
	if err != nil {
		return found, fmt.Errorf("%s: %w", flag, err)
	}
	if found, err = parse(content); err != nil {
		return found, fmt.Errorf("%s %s: %w", flag, file, err)
	}
	return found, nil
}

// read returns the configuration, nil for none.
func (o *loginOptions) read() (*settings.Settings, error) {
	if o.File == "" {
		return nil, nil
	}
	found, err := readConfig("--oauth-config", o.File, settings.Parse)
	if err != nil {
		return nil, err
	}
	if of := found.Server; of != nil && loginstore.Embedded(of.Store) && o.Replicas > 1 {
		return nil, fmt.Errorf("--oauth-config %s: server.store is sqlite, a file of one ingress, but --replicas is %d: the other replicas would not know a login; set server.store to postgres:FILE, or --replicas to 1",
			o.File, o.Replicas)
	}
	return found, nil
}

// open makes what the configuration says.
func (o *loginOptions) open(ctx context.Context, c *core, pages *userconsole.Options) (*logins, error) {
	found, err := o.read()
	if err != nil || found == nil {
		return &logins{}, err
	}
	roots, err := rootsOf(found.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--oauth-config: caFile: %w", err)
	}
	issuers := issuersOf(found)
	warnOfIssuers(ctx, found.Issuers, c.log)
	keys, err := jwks.New(keySources(found, &c.identity.Login), jwks.Options{Client: clientOf(roots), Clock: clock.System{}, Log: c.log})
	if err != nil {
		return nil, fmt.Errorf("--oauth-config: %w", err)
	}
	verifier, err := oauth.NewVerifier(issuers, keys)
	if err != nil {
		return nil, fmt.Errorf("--oauth-config: %w", err)
	}
	if err := keys.Register(c.metrics); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	l := &logins{
		oauth: &authn.OAuth{
			PublicURL: found.PublicURL, Name: resourceName, Scopes: scopesOf(found, verifier),
			TrustedNamespaces: found.Trusted(), Tokens: verifier,
		},
		run: []func(context.Context) error{keys.Run},
	}
	if found.IssuersNameGroups() {
		recorder := bridgestore.NewGroupRecorder(verifier, personsOf(c), c.log)
		l.oauth.Tokens = recorder
		l.run = append(l.run, recorder.Run)
	}
	for _, i := range issuers {
		l.oauth.Servers = append(l.oauth.Servers, i.URL)
	}
	if found.Server == nil {
		return l, nil
	}
	own := ownServer{found: found, core: c, roots: roots, pages: pages}
	return l, own.open(ctx, l)
}

// warnOfIssuers logs the issuers at which clients of MCP cannot log in.
func warnOfIssuers(ctx context.Context, issuers []settings.Issuer, log *slog.Logger) {
	for _, i := range issuers {
		if i.RefusesResource() {
			log.WarnContext(ctx, "clients of MCP cannot log in at this issuer, which refuses the parameter resource that they send: use server in --oauth-config with it as a provider", "issuer", i.Issuer)
		}
	}
}

// scopesOf returns what clients are told to ask for: what our own server knows where
// there is one, since others would be refused by it, and it is named first.
func scopesOf(found *settings.Settings, v *oauth.Verifier) []string {
	if found.Server != nil {
		return oauth.Scopes()
	}
	return v.Scopes()
}

// issuersOf returns whose tokens are accepted, the installation's own server
// first: it is where clients begin that look at one alone.
func issuersOf(found *settings.Settings) []oauth.Issuer {
	var issuers []oauth.Issuer
	if found.Server != nil {
		issuers = append(issuers, oauth.Issuer{URL: found.PublicURL, Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true})
	}
	for _, i := range found.Issuers {
		issuer := oauth.Issuer{
			URL: i.Issuer, Types: i.Types, Audiences: i.Audiences, ReadScopes: i.Scopes.Read, CallScopes: i.Scopes.Call,
			User: oauth.UserRule{Claim: i.User.Claim, Suffix: i.User.Suffix}, Groups: i.Groups.Claim,
		}
		for _, a := range i.Algorithms {
			issuer.Algorithms = append(issuer.Algorithms, jose.SignatureAlgorithm(a))
		}
		issuers = append(issuers, issuer)
	}
	return issuers
}

// keySources returns where the keys of the issuers are. Those of our own are at
// the keybroker.
func keySources(found *settings.Settings, own *identity.SigningKeys) []jwks.Source {
	var sources []jwks.Source
	if found.Server != nil {
		sources = append(sources, jwks.Source{Issuer: found.PublicURL, Fetch: own.Keys})
	}
	for _, i := range found.Issuers {
		sources = append(sources, jwks.Source{Issuer: i.Issuer, URL: i.JWKSURL})
	}
	return sources
}

// rootsOf returns the authorities that issuers and providers may be of: the
// system's, and those of the file if there is one. Nil is the system's alone.
func rootsOf(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

// clientOf returns what asks issuers and providers that may be of these
// authorities, nil where they are the system's alone.
func clientOf(roots *x509.CertPool) *http.Client {
	if roots == nil {
		return nil
	}
	const patience = 10 * time.Second
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: patience}).DialContext,
		TLSHandshakeTimeout: patience,
		TLSClientConfig:     tlsOf(roots),
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}}
}

// tlsOf returns the TLS configuration by which others of these authorities are
// asked.
func tlsOf(roots *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
}
