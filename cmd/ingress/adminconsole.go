// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
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
		Parts: parts, Users: l.console, Administration: l.administration, Catalog: c.catalog, Cluster: c.cluster,
		Namespace: o.Namespace, NamesGroups: l.namesGroups, Health: c.health(o), Bridges: c.routes.Bridges,
	})
	if err != nil {
		return f, err
	}
	f = l.administrators.Feature()
	f.SourceRate, f.TooManyFromSource = o.Ingress.LoginRequests, problems.TooManyLogins
	return f, nil
}

// health returns what says what this replica knows of the installation.
func (c *core) health(o *options) func() admin.Health {
	kind, _, _ := indexOf(o.AuditIndex)
	quotas := "each replica for itself"
	switch {
	case o.Quota.StoreURL != "":
		quotas = "store"
	case o.Quota.RedisURL != "":
		quotas = "Redis"
	}
	return func() admin.Health {
		return admin.Health{
			Version: version.String(), Index: kind, Quotas: quotas,
			Confirmed: c.routes.Confirmed(), Certificate: c.identity.expiry(), CatalogKnown: c.catalog.Synced(),
		}
	}
}
