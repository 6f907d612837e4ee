// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the catalog over HTTP: reads for anyone, also in the shapes
// of administrators. It is a shell; the ingress serves its routes, and package
// catalog decides.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// Store is the catalog. Errors of writes are those of package catalog, or of the
// API server.
type Store interface {
	// Current is the catalog as it is known here, and Changed a channel that is
	// closed when that changes.
	Current() *catalog.Snapshot
	Changed() <-chan struct{}
	// Synced reports whether Current and the publishers are all that there is.
	Synced() bool

	Publisher(id string) (catalog.Publisher, bool)
	Publishers() []catalog.Publisher
	PublisherByKey(presented string) (publisherID, keyID string, ok bool)
	NoteKeyUse(publisherID, keyID string, at time.Time)

	CreateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error)
	UpdateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error)
	RetireRecipe(ctx context.Context, name, owner, ifMatch string, dryRun bool) error
	DeleteRecipe(ctx context.Context, name, ifMatch string, dryRun bool) error

	SetQuality(ctx context.Context, name string, o catalog.Overlay, ifMatch string, dryRun bool) (e catalog.Entry, created bool, err error)
	ClearQuality(ctx context.Context, name string) error
	SetOwner(ctx context.Context, name, owner string) (catalog.Entry, error)

	CreatePublisher(ctx context.Context, p catalog.Publisher, expires *time.Time) (created catalog.Publisher, key string, err error)
	UpdatePublisher(ctx context.Context, p catalog.Publisher, ifMatch string) (catalog.Publisher, error)
	AddPublisherKey(ctx context.Context, id string, expires *time.Time) (p catalog.Publisher, keyID, key string, err error)
	RevokePublisherKey(ctx context.Context, id, keyID string) error
}

// Seeder brings the catalog in line with its source.
type Seeder interface {
	Seed(ctx context.Context, dryRun bool) (catalog.SeedReport, error)
}

// Options are what an API stands on.
type Options struct {
	Store Store
	// Seeder is nil where there is no source of recipes.
	Seeder Seeder
	// Namespace is what the official registry's API puts before a recipe's name,
	// such as com.example.catalog; DefaultNamespace when empty.
	Namespace string
	// Settle is how long a write waits until it is served; three seconds when
	// zero.
	Settle time.Duration
	// MaxRecipes is how many recipes one publisher may have; no limit when zero.
	MaxRecipes int
	Log        *slog.Logger
}

const (
	// settle is the default of Options.Settle: the operator mostly needs less
	// than a tenth of a second.
	settle = 3 * time.Second
	// actTimeout bounds an act, above what the store has for it.
	actTimeout = 15 * time.Second
)

// API serves the catalog.
type API struct {
	store  Store
	seeder Seeder
	settle time.Duration
	// maxRecipes is Options.MaxRecipes.
	maxRecipes int
	log        *slog.Logger
	// namespace is of the names in the official registry\'s form.
	namespace string
	document  document
	paths     paths
}

// New returns an API, or what is wrong with its options.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Log == nil {
		return nil, errors.New("catalog API: a dependency is missing")
	}
	a := &API{store: o.Store, seeder: o.Seeder, settle: o.Settle, maxRecipes: o.MaxRecipes, log: o.Log}
	if a.settle == 0 {
		a.settle = settle
	}
	a.namespace = cmp.Or(o.Namespace, DefaultNamespace)
	if err := checkNamespace(a.namespace); err != nil {
		return nil, err
	}
	var err error
	if a.document, err = newDocument(); err != nil {
		return nil, err
	}
	a.paths = newPaths(a.namespace)
	return a, nil
}

// snapshot returns the catalog, once all of it is known.
func (a *API) snapshot() (*catalog.Snapshot, error) {
	if s := a.store.Current(); s != nil && a.store.Synced() {
		return s, nil
	}
	return nil, errNotRead
}

var _ surface.Part = (*API)(nil)
