// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
)

// valid returns a recipe with which nothing is wrong.
func valid(id string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Server " + id, Description: "Does something",
		Repository: "https://example.com/" + id, RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/" + id + "@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/" + id, Version: "1.2.3"},
	}
}

// text returns the file of a recipe that was changed.
func text(id string, changes ...func(*recipe.Recipe)) string {
	r := valid(id)
	for _, change := range changes {
		change(&r)
	}
	return catalog.SourceOf(r)
}

func described(as, version string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Description, r.RecipeVersion = as, version }
}

// memorySource are files by their paths.
type memorySource struct {
	files map[string]string
	err   error
}

func (m *memorySource) String() string { return "memory:" }

func (m *memorySource) Each(ctx context.Context, f func(File)) error {
	if m.err != nil {
		return m.err
	}
	return each(ctx, memoryTree(m.files), f)
}

type memoryTree map[string]string

func (m memoryTree) list() ([]node, error) {
	folders := map[string]bool{}
	for path := range m {
		name, _, below := strings.Cut(path, "/")
		folders[name] = below
	}
	var nodes []node
	for name, folder := range folders {
		nodes = append(nodes, node{name: name, folder: folder})
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return nodes, nil
}

func (m memoryTree) read(path string) ([]byte, error) {
	if content, there := m[path]; there {
		return []byte(content), nil
	}
	return nil, errNotThere
}

// memoryStore is a catalog that accepts what is written to it.
type memoryStore struct {
	mu         sync.Mutex
	current    *search.Snapshot
	changed    chan struct{}
	synced     bool
	publishers map[string]catalog.Publisher
	// applied are the changes of each ApplySeed.
	applied [][]catalog.Change
	// fail says why a change is not made.
	fail func(catalog.Change) error
	// before is called at the begin of ApplySeed.
	before func()
}

func newMemoryStore(entries ...catalog.Entry) *memoryStore {
	return &memoryStore{current: search.NewSnapshot(entries, nil), changed: make(chan struct{}), synced: true}
}

func (m *memoryStore) Synced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

func (m *memoryStore) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *memoryStore) Current() *search.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

func (m *memoryStore) Publisher(id string) (catalog.Publisher, bool) {
	p, ok := m.publishers[id]
	return p, ok
}

// set changes the store and tells of it.
func (m *memoryStore) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memoryStore) put(entries ...catalog.Entry) {
	m.set(func() { m.current = m.current.With(entries, nil) })
}

func (m *memoryStore) ApplySeed(_ context.Context, changes []catalog.Change, dryRun bool) error {
	if m.before != nil {
		m.before()
	}
	m.applied = append(m.applied, changes)
	var failed catalog.ChangeErrors
	for _, c := range changes {
		if m.fail != nil {
			if err := m.fail(c); err != nil {
				failed = append(failed, &catalog.ChangeError{Name: c.Name, Err: err})
				continue
			}
		}
		if dryRun {
			continue
		}
		// The watch tells of it later.
		go m.put(m.after(c))
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

func (m *memoryStore) after(c catalog.Change) catalog.Entry {
	if c.Kind == catalog.Deprecate {
		e, _ := m.Current().Entry(c.Name)
		e.Deprecated = &catalog.Deprecation{Since: clocktest.Start, Reason: c.Reason}
		return e
	}
	return seeded(c.Recipe)
}

// seeded returns the entry of a recipe that the seeder wrote and that was
// accepted.
func seeded(r recipe.Recipe) catalog.Entry {
	source := catalog.SourceOf(r)
	return catalog.Entry{
		Name: r.ID, Owner: catalog.SeedOwner, Recipe: r, Accepted: true, Revision: "r",
		Versions: []catalog.Version{{Version: r.RecipeVersion, Digest: catalog.Digest(source), Recipe: r, Source: source}},
	}
}

func ofOwner(r recipe.Recipe, owner string) catalog.Entry {
	e := seeded(r)
	e.Owner = owner
	return e
}

func testSeeder(t *testing.T, files map[string]string, store Store) (*Seeder, *memorySource, *clocktest.Clock) {
	t.Helper()
	source, clock := &memorySource{files: files}, clocktest.New(0)
	return New(source, store, clock, discard()), source, clock
}
