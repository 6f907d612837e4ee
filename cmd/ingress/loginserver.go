// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/loginstore"
	"github.com/hostedbridge/hostedbridge/internal/authserver/provider"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
)

// ownServer is what the installation's own authorization server is made of.
type ownServer struct {
	found *settings.Settings
	core  *core
	roots *x509.CertPool
	pages *userconsole.Options
}

// open adds the server to l.
func (o *ownServer) open(ctx context.Context, l *logins) error {
	of, keys := o.found.Server, &o.core.identity.Login
	entries, err := loginstore.Open(ctx, of.Store, loginstore.Options{Metrics: o.core.metrics, Log: o.core.log})
	if err != nil {
		return fmt.Errorf("--oauth-config: %w", err)
	}
	l.run = append(l.run, entries.Run)
	l.entries, l.keptIn = entries, "PostgreSQL"
	if loginstore.Embedded(of.Store) {
		l.keptIn = "SQLite"
	}
	documents, err := documentsOf(of.Documents, o.roots)
	if err != nil {
		return fmt.Errorf("--oauth-config: %w", err)
	}
	providers, err := providersOf(of.Providers, clientOf(o.roots))
	if err != nil {
		return fmt.Errorf("--oauth-config: %w", err)
	}
	contact, logo, err := o.pages.Look()
	if err != nil {
		return err
	}
	var toConsole authserver.ConsoleLogin
	if o.pages.Enabled {
		toConsole = func(c httpapi.Call, who httpapi.Identity, next string) error { //nolint:contextcheck // A call has the context of its request.
			return l.console.BeginLogin(c, who, next)
		}
	}
	var toAdministrators authserver.AdministratorLogin
	if o.pages.ServesAdministrators() {
		toAdministrators = func(c httpapi.Call, who httpapi.Administrator, next string) error { //nolint:contextcheck // A call has the context of its request.
			return l.administrators.Begin(c, who, next)
		}
	}
	shared := sharedOf(of, o.core)
	options := authserver.Options{
		Issuer: o.found.PublicURL, Name: of.Name, Contact: contact, Logo: logo, Console: toConsole, Administrators: toAdministrators,
		Store: entries, Signer: keys, Keys: keys, Users: usersOf(o.found, o.core),
		Providers: providers, Clients: clientsOf(of.Clients), Documents: documents, Connections: newConnections(o.core),
		Registration:    client.Registration{Enabled: of.Registration.Enabled, MaxClients: of.Registration.MaxClients, Lifetime: of.Registration.Lifetime},
		Invitations:     of.Onboarding.Mode != settings.Off,
		RedirectSchemes: of.RedirectSchemes,
		AccountOrigins:  accountOriginsOf(of.AccountOrigins),
		Roles:           rolesOf(of.Roles),
		AccessToken:     of.Lifetimes.AccessToken, RefreshToken: of.Lifetimes.RefreshToken, RefreshIdle: of.Lifetimes.RefreshIdle,
		Random: rand.Reader, Now: time.Now, Metrics: o.core.metrics, Log: o.core.log,
	}
	if shared != nil {
		options.Shared = shared
	}
	server, err := authserver.New(options)
	if err != nil {
		return fmt.Errorf("--oauth-config: %w", err)
	}
	l.oauth.Name, l.server = of.Name, server
	if shared != nil {
		l.shared = &management.SharedOptions{
			PublicURL: o.found.PublicURL, Tokens: l.oauth.Tokens, Routes: o.core.routes, UID: shared.UID, Secrets: &o.core.identity.Secrets,
		}
	}
	return nil
}

// usersOf returns the directory of users, which makes a bridge at a first login.
func usersOf(found *settings.Settings, c *core) *bridgestore.Directory {
	o := &found.Server.Onboarding
	acts := &bridgestore.Onboarding{Client: c.cluster}
	if o.Mode == settings.Auto {
		acts.Namespace = o.Namespace
	}
	return &bridgestore.Directory{
		Routes: c.routes, Onboarding: acts, Mode: o.Mode, Trusted: found.Trusted(),
		Persons: personsOf(c),
	}
}

// sharedOf returns what finds the SharedServers of owners, nil where no provider names groups.
func sharedOf(of *settings.Server, c *core) *bridgestore.SharedServers {
	if !slices.ContainsFunc(of.Providers, func(p settings.Provider) bool { return p.Groups.Claim != "" }) {
		return nil
	}
	return &bridgestore.SharedServers{Client: c.cluster, Namespace: c.cluster.namespace}
}

// personsOf returns what records the groups of people.
func personsOf(c *core) *bridgestore.Persons {
	return &bridgestore.Persons{Client: c.cluster, Namespace: c.cluster.namespace, Log: c.log}
}

func accountOriginsOf(list []settings.AccountOrigins) []authserver.AccountOrigins {
	var origins []authserver.AccountOrigins
	for _, o := range list {
		origins = append(origins, authserver.AccountOrigins{Authorization: o.Authorization, Token: o.Token})
	}
	return origins
}

func rolesOf(list []settings.Role) []flow.Role {
	var roles []flow.Role
	for _, r := range list {
		for _, g := range r.Groups {
			roles = append(roles, flow.Role{Role: oauth.Role(r.Role), Issuer: g.Issuer, Group: g.Value})
		}
	}
	return roles
}

// documentsOf returns what reads the documents of clients, nil where none are.
func documentsOf(d settings.Documents, roots *x509.CertPool) (flow.Documents, error) {
	if !d.Enabled {
		return nil, nil
	}
	documents, err := client.NewDocuments(client.DocumentOptions{Allow: d.AllowedNetworks, TLS: tlsOf(roots)})
	if err != nil {
		return nil, fmt.Errorf("clientIDMetadataDocuments: %w", err)
	}
	return documents, nil
}

func clientsOf(list []settings.Client) []flow.Client {
	var clients []flow.Client
	for _, c := range list {
		clients = append(clients, flow.Client{ID: c.ID, Name: c.Name, RedirectURIs: c.RedirectURIs})
	}
	return clients
}

func providersOf(list []settings.Provider, client *http.Client) ([]flow.Provider, error) {
	var providers []flow.Provider
	for _, p := range list {
		c := provider.Config{
			ID: p.ID, Name: p.Name, Issuer: p.Issuer, URL: p.URL, APIURL: p.APIURL, ClientID: p.ClientID, Scopes: p.Scopes,
			Secret: provider.InFile(p.ClientSecretFile), Key: provider.InFile(p.ClientKeyFile), KeyID: p.ClientKeyID,
			User: oauth.UserRule{Claim: p.User.Claim, Suffix: p.User.Suffix}, Client: client, SubjectClaim: p.SubjectClaim, Groups: p.Groups.Claim,
			Limits: flow.Limits{Grace: p.Groups.RecheckGrace, MaxAge: p.MaxAge}, Parameters: p.AuthorizationParameters, AuthMethod: p.TokenEndpointAuthMethod,
		}
		made, err := providerOf(p.Type, c)
		if err != nil {
			return nil, err
		}
		providers = append(providers, made)
	}
	return providers, nil
}

func providerOf(kind string, c provider.Config) (flow.Provider, error) {
	if kind == settings.GitHub {
		return provider.GitHub(c)
	}
	return provider.OIDC(c)
}

// newConnections returns what connects the accounts of users' servers.
func newConnections(c *core) *bridgestore.Connections {
	return &bridgestore.Connections{Routes: c.routes, Bridges: c.cluster, Secrets: &c.identity.Secrets, Wake: c.status.Wake}
}
