// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// administratorsFeature serves the administrators' console, on what adminFeature and
// consoleFeature have made.
func (l *logins) administratorsFeature(c *core, o *options) (f httpapi.Feature, err error) {
	parts := l.consoleParts(c, o)
	parts.Requests = requestsOn(c, o)
	l.administrators, err = userconsole.OpenAdministrators(userconsole.AdministratorParts{
		Parts: parts, Users: l.console, Administration: l.administration, Programs: c.programs, ProgramOf: c.programOfRecipe, Catalog: c.catalog, Cluster: c.cluster,
		Namespace: o.Namespace, Watched: o.WatchNamespaces, Tiers: c.quotas.tiers.Tiers, Health: l.health(c, o), Bridges: c.routes.Bridges,
	})
	if err != nil {
		return f, err
	}
	f = l.administrators.Feature()
	f.SourceRate, f.TooManyFromSource = o.Ingress.LoginRequests, problems.TooManyLogins
	return f, nil
}

// health returns what says what this replica knows of the installation.
func (l *logins) health(c *core, o *options) func(context.Context) admin.Health {
	quotas := "memory of each replica"
	switch {
	case o.Quota.StoreURL != "":
		quotas = "store"
	case o.Quota.RedisURL != "":
		quotas = "Redis"
	}
	last := backupsOf(c.cluster, o, c.log)
	return func(ctx context.Context) admin.Health {
		h := admin.Health{
			Backups: last.read(ctx),
			Version: version.String(), Index: o.Audit.IndexKind(), Quotas: admin.Store{Kind: quotas}, Logins: l.storeHealth(ctx),
			Confirmed: c.routes.Confirmed(), Certificate: c.identity.Expiry(), CatalogKnown: c.catalog.Synced(),
		}
		if l.server != nil {
			h.Providers = l.server.ProviderHealth()
		}
		if _, answers := c.quotas.store.Shared(); !answers {
			h.Quotas.Err = errors.New("the store of quotas does not answer")
		}
		return h
	}
}

// storeHealth says whether the store of logins answers, by asking for an entry that does not
// exist.
func (l *logins) storeHealth(ctx context.Context) admin.Store {
	if l.entries == nil {
		return admin.Store{}
	}
	_, err := l.entries.Get(ctx, flow.KindLogin, "health")
	if errors.Is(err, flow.ErrNotFound) {
		err = nil
	}
	return admin.Store{Kind: l.keptIn, Err: err}
}
