// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

const (
	// firstRetry and lastRetry bound the wait after a failed seed at the start.
	// The wait doubles each time.
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
	// logged is how many broken recipes are named in the log, one line each.
	logged = 20
)

// Run seeds the catalog once, as soon as it is read, and retries until it
// succeeds or ctx ends. Replicas that run at the same time reach the same
// result.
func (s *Seeder) Run(ctx context.Context) error {
	if s.source == nil || !s.synced(ctx) {
		return nil
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		report, err := s.Seed(ctx, false)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The process ends.
		}
		s.tell(ctx, report, err)
		if err == nil || errors.Is(err, ErrNone) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(wait):
		}
	}
}

// synced waits until the catalog is read.
func (s *Seeder) synced(ctx context.Context) bool {
	for {
		changed := s.store.Changed()
		if s.store.Synced() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

func (s *Seeder) tell(ctx context.Context, r catalog.SeedReport, err error) {
	if err != nil {
		s.log.ErrorContext(ctx, "the catalog could not be seeded: it stays as it is, and this is tried again", "source", s.source.String(), "error", err)
	} else {
		s.log.InfoContext(ctx, "the catalog was seeded", "source", r.Source, "created", r.Counts[catalog.Create], "updated", r.Counts[catalog.Update],
			"deprecated", r.Counts[catalog.Deprecate], "unchanged", r.Counts[catalog.None], "broken", len(r.Broken))
	}
	for i, b := range r.Broken {
		if i == logged {
			s.log.WarnContext(ctx, "there are more recipes that cannot be used: POST /admin/seed?dryRun=All names them", "broken", len(r.Broken))
			break
		}
		problems := make([]string, len(b.Problems))
		for j, p := range b.Problems {
			problems[j] = p.String()
		}
		s.log.WarnContext(ctx, "a recipe of the source cannot be used", "file", b.File, "problems", problems)
	}
}
