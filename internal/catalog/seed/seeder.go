// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seed brings the catalog in line with a source of recipe files: a
// folder, which may be a mount, or an archive that a server has over HTTPS. It is
// a shell: package catalog decides what changes.
package seed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// Store is the part of the catalog that the seeder needs.
type Store interface {
	// Synced reports whether Current is complete.
	Synced() bool
	// Changed returns a channel that is closed when Current changes.
	Changed() <-chan struct{}
	Current() *search.Snapshot
	Publisher(id string) (catalog.Publisher, bool)
	// ApplySeed makes changes. Its error is catalog.ChangeErrors if some of
	// them were not made.
	ApplySeed(ctx context.Context, changes []catalog.Change, dryRun bool) error
}

const (
	// tries is how often a seed retries a recipe that another writer changed
	// meanwhile.
	tries = 3
	// settled is how long a seed waits until the catalog's readers see what it
	// wrote, so that the next seed has nothing to write.
	settled = 10 * time.Second
)

// ErrNone says that the installation has no source to seed from.
var ErrNone = errors.New("the installation has no source of recipes: --catalog-seed is not set. Set it, or catalog.seed.source of the chart")

var errNotSynced = errors.New("the catalog is not read yet")

// Seeder seeds the catalog. It is safe for concurrent use.
type Seeder struct {
	source Source
	store  Store
	clock  clock.Clock
	log    *slog.Logger
	m      *metrics
	// turn is held by the current run.
	turn chan struct{}
}

// New returns a seeder. source may be nil, for none.
func New(source Source, store Store, clock clock.Clock, log *slog.Logger) *Seeder {
	return &Seeder{source: source, store: store, clock: clock, log: log, m: newMetrics(), turn: make(chan struct{}, 1)}
}

// Seed brings the catalog in line with the source, or, with dryRun, says what
// it would do. Broken recipes of the source are reported, and the others are
// written. A source that cannot be read or is empty changes nothing. If some
// changes could not be made, the report has the others.
func (s *Seeder) Seed(ctx context.Context, dryRun bool) (catalog.SeedReport, error) {
	if s.source == nil {
		return catalog.SeedReport{}, ErrNone
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return catalog.SeedReport{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	report, err := s.seed(ctx, dryRun)
	report.Source, report.DryRun = s.source.String(), dryRun
	if !dryRun {
		s.m.observe(report, err, s.clock.Now())
	}
	return report, err
}

func (s *Seeder) seed(ctx context.Context, dryRun bool) (catalog.SeedReport, error) {
	if !s.store.Synced() {
		return catalog.SeedReport{}, errNotSynced
	}
	f, err := checker{s.store, s.clock.Now()}.read(ctx, s.source)
	if err != nil {
		return catalog.SeedReport{}, fmt.Errorf("read recipes from %s: %w", s.source, err)
	}
	for try := 1; ; try++ {
		changes := catalog.Diff(f.drafts, s.store.Current().Entries(), f.kept...)
		writes := writesOf(changes)
		if len(writes) == 0 {
			return f.report(changes), nil
		}
		err := s.store.ApplySeed(ctx, writes, dryRun)
		if raced(err) && try < tries {
			s.await(ctx, writes)
			continue
		}
		f.judge(changes, &err)
		if !dryRun {
			s.await(ctx, writesOf(changes))
		}
		if err != nil {
			err = fmt.Errorf("write recipes: %w", err)
		}
		return f.report(changes), err
	}
}

func writesOf(changes []catalog.Change) []catalog.Change {
	var writes []catalog.Change
	for _, c := range changes {
		if c.Kind != catalog.None {
			writes = append(writes, c)
		}
	}
	return writes
}

// raced reports whether recipes were not written because another writer, such
// as another replica, wrote them at the same time.
func raced(err error) bool {
	return errors.Is(err, catalog.ErrChanged) || errors.Is(err, catalog.ErrExists)
}

// judge removes what was not written from the changes. Refusals of the API
// server or another owner of a recipe are listed in the report and do not fail
// the seed: err keeps the rest.
func (f *found) judge(changes []catalog.Change, err *error) {
	failed, ok := errors.AsType[catalog.ChangeErrors](*err)
	if !ok {
		return
	}
	byName := make(map[string]error, len(failed))
	for _, one := range failed {
		byName[one.Name] = one.Err
	}
	var rest catalog.ChangeErrors
	for i := range changes {
		c := &changes[i]
		why, there := byName[c.Name]
		if !there || c.Kind == catalog.None {
			continue
		}
		c.Kind, c.Reason = catalog.None, why.Error()
		if invalid, ok := errors.AsType[*catalog.InvalidError](why); ok {
			f.broken = append(f.broken, catalog.BrokenRecipe{File: f.files[c.Name], Name: c.Name, Problems: invalid.Problems})
			c.Reason = "the API server does not take it"
			continue
		}
		if _, held := errors.AsType[*catalog.ManagedError](why); !held && !errors.Is(why, catalog.ErrExists) && !errors.Is(why, catalog.ErrNotOwner) {
			rest = append(rest, &catalog.ChangeError{Name: c.Name, Err: why})
		}
	}
	if *err = nil; len(rest) > 0 {
		*err = rest
	}
}

// await waits until the catalog's readers see what was written. A timeout is no
// failure: the next seed checks again.
func (s *Seeder) await(ctx context.Context, writes []catalog.Change) {
	ctx, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	for {
		changed := s.store.Changed()
		current := s.store.Current()
		var left []catalog.Change
		for _, w := range writes {
			if !isDone(w, current) {
				left = append(left, w)
			}
		}
		if writes = left; len(writes) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// isDone reports whether a seed would not write the change again.
func isDone(c catalog.Change, current *search.Snapshot) bool {
	e, there := current.Entry(c.Name)
	switch {
	case !there:
		return false
	case c.Kind == catalog.Deprecate:
		return e.Deprecated != nil
	}
	again := catalog.Diff([]catalog.Draft{{Name: c.Name, Recipe: c.Recipe}}, []catalog.Entry{e})
	return len(again) == 1 && again[0].Kind == catalog.None
}
