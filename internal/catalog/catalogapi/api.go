// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogapi is the catalog over HTTP: reads for anyone, also in the shapes
// of administrators. It is a shell; the ingress serves its routes, and package
// catalog decides.
package catalogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

// Store is the catalog. Errors of writes are those of package catalog, or of the
// API server.
type Store interface {
	// Current is the catalog in this process's memory, and Changed a channel
	// that is closed when it changes.
	Current() *search.Snapshot
	Changed() <-chan struct{}
	// Synced reports whether Current and the publishers are complete.
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

// Options are the settings of an API.
type Options struct {
	Store Store
	// Seeder is nil if there is no source of recipes.
	Seeder Seeder
	// Namespace is what the official registry's API puts before a recipe's name,
	// such as com.example.catalog; DefaultNamespace when empty.
	Namespace string
	// URL is the installation's public URL, such as https://bridge.example.com. The
	// official registry's API then has an entry of the installation itself; it has
	// none if URL is empty.
	URL string
	// Settle is how long a write waits until it is served; zero means three
	// seconds.
	Settle time.Duration
	// ReplicaLag is how long a write waits for a recipe of which only another replica
	// may know; zero means half a second.
	ReplicaLag time.Duration
	// MaxRecipes is how many recipes one publisher may have; zero means no
	// limit.
	MaxRecipes int
	// Signer signs the installation's own recipes; nil signs none.
	Signer *recipe.Signer
	// Program returns the package that bridges start for a recipe, nil for none. It may be nil.
	Program func(recipe.Recipe) *catalog.Program
	Log     *slog.Logger
}

const (
	// settle is the default of Options.Settle: the operator usually needs less
	// than a tenth of a second.
	settle = 3 * time.Second
	// replicaLag is the default of Options.ReplicaLag: replicas usually lag less behind
	// each other.
	replicaLag = 500 * time.Millisecond
)

// API serves the catalog.
type API struct {
	*core
	*readHandler
	*publisherHandler
	*registryHandler
	*adminHandler
}

// core has what all handlers share.
type core struct {
	store  Store
	seeder Seeder
	// settle and replicaLag are those of the options.
	settle, replicaLag time.Duration
	// maxRecipes is Options.MaxRecipes.
	maxRecipes int
	signer     *recipe.Signer
	program    func(recipe.Recipe) *catalog.Program
	log        *slog.Logger
	// namespace is the prefix of names in the official registry's form.
	namespace string
	own       *installation // nil if there is no entry
	document  document
	paths     paths
}

// New returns an API, or an error if its options are invalid.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Log == nil {
		return nil, errors.New("catalog API: a dependency is missing")
	}
	a := &core{store: o.Store, seeder: o.Seeder, maxRecipes: o.MaxRecipes, signer: o.Signer, program: o.Program, log: o.Log}
	a.settle, a.replicaLag = cmp.Or(o.Settle, settle), cmp.Or(o.ReplicaLag, replicaLag)
	a.namespace = cmp.Or(o.Namespace, DefaultNamespace)
	if err := checkNamespace(a.namespace); err != nil {
		return nil, err
	}
	var err error
	if a.own, err = newInstallation(o.URL, a.namespace, time.Now()); err != nil {
		return nil, fmt.Errorf("catalog API: describe the installation: %w", err)
	}
	if a.document, err = newDocument(); err != nil {
		return nil, err
	}
	a.paths = newPaths(a.namespace)
	return &API{a, &readHandler{a}, &publisherHandler{a}, &registryHandler{core: a, encodings: encodings{namespace: a.namespace}}, &adminHandler{a}}, nil
}

// snapshot returns the catalog, once it is complete.
func (a *core) snapshot() (*search.Snapshot, error) {
	if s := a.store.Current(); s != nil && a.store.Synced() {
		return s, nil
	}
	return nil, errNotRead
}
