// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubestore keeps the catalog in CatalogRecipe and CatalogPublisher
// objects. It is a shell: package catalog decides what the catalog is.
//
// Reads come from memory, which watches keep up to date. While the API server
// is away they stay as they were. Each half of a recipe is written by
// server-side apply under a field manager of its own, so that neither writer
// undoes the other.
package kubestore

import (
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
)

// Store is the catalog of one namespace. Its methods may be called from many
// goroutines at once.
type Store struct {
	client    client.WithWatch
	namespace string
	random    io.Reader
	now       func() time.Time
	log       *slog.Logger

	current    atomic.Pointer[catalog.Snapshot]
	publishers atomic.Pointer[publishers]
	dirty      chan struct{}

	mu sync.Mutex
	// pending are the recipes that changed since the last snapshot; nil is one
	// that went.
	pending    map[string]*catalog.Entry
	popularity map[string]int64
	changed    chan struct{}
	// listed says that everything was told of once that there was.
	listed, synced bool

	uses uses
}

// Options are what a store needs. All of them are required.
type Options struct {
	// Namespace is where the catalog is.
	Namespace string
	// Random is what keys are made of; it must be the system's.
	Random io.Reader
	Now    func() time.Time
	Log    *slog.Logger
}

// New returns the catalog of the cluster that config names. It does not ask the
// API server for anything yet.
func New(config *rest.Config, o Options) (*Store, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	// A seed writes 10,000 recipes, some at a time; client-go's own limit of 5
	// writes a second would make half an hour of it.
	config.QPS = -1
	// The mapper of its own would need the API server's word.
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapperOf(scheme)})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	s := &Store{
		client: c, namespace: o.Namespace, random: o.Random, now: o.Now, log: o.Log,
		dirty: make(chan struct{}, 1), pending: map[string]*catalog.Entry{}, changed: make(chan struct{}),
		uses: uses{notes: map[use]time.Time{}},
	}
	s.current.Store(catalog.NewSnapshot(nil, nil))
	s.publishers.Store(newPublishers())
	return s, nil
}

// mapperOf says how the resources of the catalog's kinds are called.
func mapperOf(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for _, kind := range []string{"CatalogRecipe", "CatalogPublisher"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

// Current returns the catalog as it was last seen. Before Synced it is empty.
func (s *Store) Current() *catalog.Snapshot { return s.current.Load() }

// Synced reports whether Current and the publishers are all that there are.
func (s *Store) Synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced && s.publishers.Load().listed
}

// Changed returns a channel that is closed when a snapshot newer than the one
// that Current returned before this call is published, and when the publishers
// change. Take the channel first and look at Current then, or a change between
// the two is missed.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// SetPopularity says how much each recipe is used, in any unit. The map must not
// be changed afterwards.
func (s *Store) SetPopularity(popularity map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.popularity = popularity
	s.publish(s.current.Load().WithPopularity(popularity))
}

// publish makes a snapshot known. The caller holds s.mu.
func (s *Store) publish(next *catalog.Snapshot) {
	s.current.Store(next)
	s.announce()
}

// announce tells those who wait for a change. The caller holds s.mu.
func (s *Store) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Publisher returns a publisher.
func (s *Store) Publisher(id string) (catalog.Publisher, bool) {
	p, there := s.publishers.Load().byID[id]
	if !there {
		return catalog.Publisher{}, false
	}
	return p.public, true
}

// Publishers returns all of them, by id.
func (s *Store) Publishers() []catalog.Publisher { return s.publishers.Load().list() }
