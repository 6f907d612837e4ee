// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipestore stores the catalog in CatalogRecipe and CatalogPublisher
// objects. It is a shell: package catalog makes the decisions.
//
// Reads come from memory, which watches keep up to date. During an outage of
// the API server the memory keeps its state. Each half of a recipe is written
// by server-side apply under a field manager of its own, so that neither writer
// undoes the other's changes.
package recipestore

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

// Store is the catalog of one namespace. It is safe for concurrent use.
type Store struct {
	*Reader
	*Writer
	*keyUsage
}

// Reader has the catalog in memory, as watches report it.
type Reader struct {
	client    client.WithWatch
	namespace string
	now       func() time.Time
	log       *slog.Logger

	current    atomic.Pointer[search.Snapshot]
	publishers atomic.Pointer[publishers]
	dirty      chan struct{}

	mu sync.Mutex
	// pending are the recipes that changed since the last snapshot; nil is a
	// deleted one.
	pending    map[string]*catalog.Entry
	popularity map[string]int64
	changed    chan struct{}
	// listed means that the first list of recipes was read, and synced that
	// current has it.
	listed, synced bool
}

// Writer writes recipes and publishers.
type Writer struct {
	client    client.Client
	namespace string
	random    io.Reader
	now       func() time.Time
}

// Options are what a store needs. All of them are required.
type Options struct {
	// Namespace is where the catalog is.
	Namespace string
	// Random is the source for keys; it must be the system's.
	Random io.Reader
	Now    func() time.Time
	Log    *slog.Logger
}

// New returns the catalog of the cluster that config names. It sends no request
// to the API server yet.
func New(config *rest.Config, o Options) (*Store, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	// A seed writes 10,000 recipes, some at a time; client-go's own limit of 5
	// writes a second would stretch that to half an hour.
	config.QPS = -1
	// The default mapper would need a request to the API server.
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapperOf(scheme)})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	r := &Reader{
		client: c, namespace: o.Namespace, now: o.Now, log: o.Log,
		dirty: make(chan struct{}, 1), pending: map[string]*catalog.Entry{}, changed: make(chan struct{}),
	}
	r.current.Store(search.NewSnapshot(nil, nil))
	r.publishers.Store(newPublishers())
	w := &Writer{client: c, namespace: o.Namespace, random: o.Random, now: o.Now}
	return &Store{Reader: r, Writer: w, keyUsage: &keyUsage{reader: r, writer: w, log: o.Log, pending: map[usedKey]time.Time{}}}, nil
}

// Run follows the catalog, and writes when keys were used, until ctx ends.
// Failed requests to the API server are retried.
func (s *Store) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.keyUsage.run(ctx) })
	s.Reader.run(ctx)
	return nil
}

// mapperOf maps the catalog's kinds to the names of their resources.
func mapperOf(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for _, kind := range []string{"CatalogRecipe", "CatalogPublisher"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

// Current returns the catalog as it was last read. Before Synced it is empty.
func (r *Reader) Current() *search.Snapshot { return r.current.Load() }

// Synced reports whether Current and the publishers are complete.
func (r *Reader) Synced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.synced && r.publishers.Load().listed
}

// Changed returns a channel that is closed when a snapshot newer than the one
// that Current returned before this call is published, and when the publishers
// change. Call Changed first and Current after it, or a change between the two
// is missed.
func (r *Reader) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// SetPopularity sets how much each recipe is used, in any unit. The map must
// not be changed afterwards.
func (r *Reader) SetPopularity(popularity map[string]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.popularity = popularity
	r.publish(r.current.Load().WithPopularity(popularity))
}

// publish makes a snapshot current. The caller holds r.mu.
func (r *Reader) publish(next *search.Snapshot) {
	r.current.Store(next)
	r.notifyChanged()
}

// notifyChanged wakes goroutines that wait for a change. The caller holds r.mu.
func (r *Reader) notifyChanged() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Publisher returns a publisher.
func (r *Reader) Publisher(id string) (catalog.Publisher, bool) {
	p, there := r.publishers.Load().byID[id]
	if !there {
		return catalog.Publisher{}, false
	}
	return p.public, true
}

// Publishers returns all of them, by id.
func (r *Reader) Publishers() []catalog.Publisher { return r.publishers.Load().list() }
