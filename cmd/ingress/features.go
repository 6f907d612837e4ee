// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogapi"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// newFeature returns a feature, and registers and starts what it needs alone.
type newFeature func(c *core, o *options) (httpapi.Feature, error)

// features returns what is served beside users' bridges. What they run is added to
// the background.
func (c *core) features(o *options, l *logins) ([]httpapi.Feature, error) {
	list := []newFeature{healthFeature, secretsFeature, l.selfFeature, requestsFeature, l.newsFeature, l.adminFeature, programsFeature, catalogFeature}
	if l.server != nil || l.oauth == nil {
		list = append(list, l.feature)
	}
	if o.SCIMFile != "" {
		list = append(list, scimFeature)
	}
	if l.shared != nil {
		list = append(list, func(*core, *options) (httpapi.Feature, error) { return management.Shared(*l.shared), nil })
	}
	if o.Console.Enabled {
		list = append(list, l.consoleFeature)
	}
	if o.Console.ServesAdministrators() {
		list = append(list, l.administratorsFeature)
	}
	served := make([]httpapi.Feature, 0, len(list))
	for _, open := range list {
		f, err := open(c, o)
		if err != nil {
			return nil, err
		}
		if f.Run != nil {
			c.background = append(c.background, f.Run)
		}
		served = append(served, f)
	}
	return served, nil
}

func healthFeature(c *core, _ *options) (httpapi.Feature, error) {
	return management.Health(c.prober, c.status.LastReport), nil
}

func secretsFeature(c *core, _ *options) (httpapi.Feature, error) {
	return management.Secrets(&c.identity.Secrets), nil
}

// selfFeature serves what users see and do of their own bridge.
func (l *logins) selfFeature(c *core, _ *options) (httpapi.Feature, error) {
	return l.self(c).Feature(), nil
}

// self returns what users see and do of their own bridge.
func (l *logins) self(c *core) *management.Self {
	options := management.SelfOptions{
		Bridge: c.routes.KnownBridge, Reports: c.prober, Last: c.status.LastReport, ListTools: c.bridges.Tools,
		Keys: c.keys(), Choices: &bridgestore.Choices{Client: c.cluster}, Secrets: &c.identity.Secrets,
		Quotas: c.quotas.store, Tiers: c.quotas.tiers.Tiers, AuditIndex: c.auditIndex(), Recipe: c.recipe, Program: c.programOf,
	}
	if l.server != nil {
		options.ConnectPage = func(user v1alpha1.UserID, server string) string {
			return v1alpha1.ConnectURL(l.oauth.PublicURL, user, server)
		}
	}
	return management.NewSelf(options)
}

// keys returns the keys of users' bridges.
func (c *core) keys() *keys.Keys {
	return &keys.Keys{Store: keys.NewCluster(c.cluster, rand.Reader), Routes: c.routes, Known: c.routes.KnownBridge}
}

// recipe returns what the catalog has of a recipe, nil for one that it does not serve.
func (c *core) recipe(name string) *catalog.Entry {
	item, served := c.catalog.Current().Get(name)
	if !served {
		return nil
	}
	return &item.Entry
}

// programOf returns what is known of the package that a server fetches, and without one of that of
// a recipe; nil for none.
func (c *core) programOf(r recipe.Recipe, fetched *v1alpha1.Install) *catalog.Program {
	if fetched != nil {
		return c.programs.Installed(*fetched)
	}
	return c.programOfRecipe(r)
}

// programOfRecipe returns what is known of the package that bridges start for a recipe, nil for
// none.
func (c *core) programOfRecipe(r recipe.Recipe) *catalog.Program {
	server, hosted := resolve.Hosted(r)
	fetched, ok := bundling.Package(server)
	if !hosted || !ok {
		return nil
	}
	return c.programs.Installed(fetched)
}

// requestsOf returns where users' requests are kept.
func requestsOf(c *core, o *options) *requests.Cluster {
	return &requests.Cluster{Client: c.cluster, Namespace: o.Namespace, Now: time.Now}
}

// requestsOn returns what users ask for, and what administrators answer.
func requestsOn(c *core, o *options) *requests.Requests {
	return &requests.Requests{Store: requestsOf(c, o), Bridges: c.routes, Recipes: c.recipe}
}

// requestsFeature serves what users ask for, and what administrators answer.
func requestsFeature(c *core, o *options) (httpapi.Feature, error) {
	return management.Requests(requestsOn(c, o)), nil
}

// news returns what has changed for users.
func (l *logins) news(c *core, o *options) *news.News {
	return &news.News{Bridges: l.self(c), Requests: requestsOn(c, o), Store: &news.Cluster{Client: c.cluster}, Now: time.Now, Log: c.log}
}

// newsFeature serves what has changed for users.
func (l *logins) newsFeature(c *core, o *options) (httpapi.Feature, error) {
	return management.News(l.news(c, o)), nil
}

// programsFeature serves what administrators see of programs.
func programsFeature(c *core, _ *options) (httpapi.Feature, error) { return c.programs.Feature(), nil }

// consoleFeature serves the users' console.
func (l *logins) consoleFeature(c *core, o *options) (httpapi.Feature, error) {
	var err error
	// A minute more than they last: clocks differ.
	if l.sessions, err = bridgestore.NewSessions(c.cluster.config, o.Namespace, session.Longest+time.Minute, c.log); err != nil {
		return httpapi.Feature{}, err
	}
	parts := l.consoleParts(c, o)
	parts.Self, parts.Requests, parts.News = l.self(c), requestsOn(c, o), l.news(c, o)
	if l.console, err = o.Console.Open(parts); err != nil {
		return httpapi.Feature{}, err
	}
	f := l.console.Feature()
	f.Run = l.sessions.Run
	f.SourceRate, f.TooManyFromSource = o.Ingress.LoginRequests, problems.TooManyLogins
	return f, nil
}

// consoleParts returns what both consoles stand on.
func (l *logins) consoleParts(c *core, o *options) userconsole.Parts {
	parts := userconsole.Parts{UserKeys: c.keys(), Signer: &c.identity.Login, Keys: &c.identity.Login, Ends: l.sessions, BaseURL: o.Catalog.URL, Server: l.server, Recipe: c.recipe, Log: c.log}
	if l.oauth != nil {
		parts.BaseURL, parts.Name = l.oauth.PublicURL, l.oauth.Name
	}
	return parts
}

// adminFeature serves administrators.
func (l *logins) adminFeature(c *core, o *options) (httpapi.Feature, error) {
	leaving := &bridgestore.Leaving{
		Client: c.cluster, Namespace: o.Namespace, Known: c.routes, Keys: keys.NewCluster(c.cluster, rand.Reader), Requests: requestsOf(c, o), Note: c.audit.Sink.Write, Now: time.Now, Log: c.log,
	}
	users := &bridgestore.UserAccess{Client: c.cluster, Namespace: o.Namespace, Known: c.routes}
	l.administration = management.NewAdministration(management.AdminOptions{
		Routes: c.routes, Keys: c.keys(), Access: users, Wake: c.status.Wake, Users: users,
		AuditIndex: c.auditIndex(), Inventory: c.inventory,
	})
	f := l.administration.Feature()
	f.Run = leaving.Run
	return f, nil
}

// catalogFeature serves the catalog, and seeds it where there is a source.
func catalogFeature(c *core, o *options) (httpapi.Feature, error) {
	signer, err := catalogapi.OpenSigner(o.Catalog.SigningKeyFile, c.log)
	if err != nil {
		return httpapi.Feature{}, err
	}
	options := catalogapi.Options{Store: c.catalog, Namespace: o.Catalog.Registry, URL: o.Catalog.URL, MaxRecipes: o.Catalog.MaxRecipes, Signer: signer, Program: c.programOfRecipe, Log: c.log}
	seeder, err := o.Seed.open(c.catalog, c.metrics, c.log)
	if err != nil {
		return httpapi.Feature{}, err
	}
	if seeder != nil {
		options.Seeder = seeder
	}
	if o.Seed.AtStart {
		c.background = append(c.background, seeder.Run)
	}
	api, err := catalogapi.New(options)
	if err != nil {
		return httpapi.Feature{}, err
	}
	f := api.Feature()
	f.SourceRate, f.TooManyFromSource = o.Ingress.CatalogReads, problems.TooManyReads
	f.HolderRate, f.TooManyOfHolder = o.Ingress.CatalogWrites, problems.TooManyWrites
	f.Run = c.catalog.Run
	return f, nil
}

// feature serves the pages and endpoints of the own authorization server. Where no logins are
// accepted, it says so.
func (l *logins) feature(_ *core, o *options) (httpapi.Feature, error) {
	f := management.KeysAlone(o.Console.WhereKeysAre(o.Catalog.URL))
	if l.server != nil {
		f = l.server.Feature()
	}
	f.SourceRate, f.TooManyFromSource = o.Ingress.LoginRequests, problems.TooManyLogins
	return f, nil
}
