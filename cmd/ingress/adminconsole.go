// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	tenants "github.com/hostedbridge/hostedbridge/internal/tenant/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// administratorsFeature serves the administrators' console, on what adminFeature and
// consoleFeature have made.
func (l *logins) administratorsFeature(c *core, o *options) (httpapi.Feature, error) {
	issuer := o.Catalog.URL
	if l.oauth != nil {
		issuer = l.oauth.PublicURL
	}
	made := admin.Options{
		Look: l.console.Look(), Namespace: o.Namespace, People: l.administration, Access: l.administration, Trail: l.administration,
		Catalog: knownCatalog{c.catalog}, Profiles: l.profiles(c), Health: c.health(o), Log: c.log,
		Sessions: session.NewKeeper(session.Options{
			Issuer: cmp.Or(issuer, "hosted-bridge"), Of: session.OfAdministrators, Longest: admin.Longest,
			Signer: &c.identity.login, Keys: &c.identity.login, Random: rand.Reader, Now: time.Now,
		}),
	}
	if l.hasRoles {
		made.Login = authserver.AdministratorsPath
	}
	var err error
	if l.administrators, err = admin.New(made); err != nil {
		return httpapi.Feature{}, err
	}
	f := l.administrators.Feature()
	f.SourceRate, f.TooManyFromSource = o.Ingress.LoginRequests, problems.TooManyLogins
	return f, nil
}

// profiles returns what reads the profiles. Where nobody names groups the ingress has no
// right to, and does not ask.
func (l *logins) profiles(c *core) admin.Profiles {
	if !l.namesGroups {
		return func(context.Context) ([]v1alpha1.BridgeProfile, error) { return nil, admin.ErrMayNotRead }
	}
	return (&tenants.Profiles{Client: c.cluster, Namespace: c.identity.options.Namespace}).List
}

// knownCatalog is the catalog as it is in memory.
type knownCatalog struct{ store *kubestore.Store }

// Entries implements admin.Catalog.
func (k knownCatalog) Entries() ([]catalog.Entry, bool) {
	return k.store.Current().Entries(), k.store.Synced()
}

// Publishers implements admin.Catalog.
func (k knownCatalog) Publishers() []catalog.Publisher { return k.store.Publishers() }

// health returns what says what this replica knows of the installation.
func (c *core) health(o *options) func(context.Context) admin.Health {
	kind, _, _ := indexOf(o.AuditIndex)
	h := admin.Health{Version: version.String(), Index: kind, Quotas: "each replica for itself"}
	switch {
	case o.Quota.StoreURL != "":
		h.Quotas = "store"
	case o.Quota.RedisURL != "":
		h.Quotas = "Redis"
	}
	return func(ctx context.Context) admin.Health {
		h := h
		h.Confirmed, h.Certificate, h.CatalogKnown = c.routes.Confirmed(), c.identity.expiry(), c.catalog.Synced()
		h.KeyVersions = map[int32]int{}
		bridges, err := c.routes.Bridges(ctx)
		if err != nil {
			return h // What is not known is not shown.
		}
		for _, b := range bridges {
			if v := b.Status.KeyVersion; v != nil {
				h.KeyVersions[*v]++
			}
		}
		return h
	}
}
