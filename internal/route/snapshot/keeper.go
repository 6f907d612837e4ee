// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"log/slog"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// grain is the least time between two writes of routes. A key that was
	// revoked in it would open its bridge again if the process and the API
	// server both ended right then. At 10,000 bridges a write takes 0.1 s.
	grain = time.Second
	// refresh is how often routes that do not change are written nevertheless,
	// so that they do not look as old as they are.
	refresh = time.Minute
)

// RouteSource is where routes come from.
type RouteSource interface {
	// Current returns the newest table, nil before the first one.
	Current() *route.Table
	// Confirmed returns when the table that Current returned before was last
	// known to be true.
	Confirmed() time.Time
}

// Keeper writes routes down while they change.
type Keeper struct {
	routes RouteSource
	keep   func(Table) error
	clock  clock.Clock
	log    *slog.Logger
	last   Table
	failed bool
}

// NewKeeper returns a keeper of routes in d. What d already has, last, is not
// written again.
func NewKeeper(d *Directory, routes RouteSource, last Table, log *slog.Logger) *Keeper {
	return &Keeper{routes: routes, keep: d.KeepRoutes, last: last, clock: clock.System{}, log: log}
}

// Run writes until ctx ends, and then once more. A write that fails is no end:
// the next one is tried.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		k.look()
		select {
		case <-ctx.Done():
			k.look()
			return nil
		case <-k.clock.After(grain):
		}
	}
}

// look writes what is to be written.
func (k *Keeper) look() {
	// In this order, so that a table is never said to be truer than it is.
	next := Table{Confirmed: k.routes.Confirmed()}
	next.Routes = k.routes.Current()
	if !k.due(next, k.clock.Now()) {
		return
	}
	err := k.keep(next)
	if err == nil {
		k.last = next
	}
	if failed := err != nil; failed != k.failed {
		k.failed = failed
		if failed {
			k.log.Error("routes are not kept: a restart while the API server is away would not know them", "error", err)
		} else {
			k.log.Info("routes are kept again")
		}
	}
}

// due reports whether next is to be written.
func (k *Keeper) due(next Table, now time.Time) bool {
	switch {
	case next.Routes == nil:
		return false
	case next.Routes != k.last.Routes:
		return true
	case now.Sub(next.Confirmed) >= 2*grain:
		// The API server went away: the last that is known of it.
		return !next.Confirmed.Equal(k.last.Confirmed)
	}
	return next.Confirmed.Sub(k.last.Confirmed) >= refresh
}
