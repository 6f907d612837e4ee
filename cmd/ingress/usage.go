// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	use "github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
)

// inventory returns what the installation has.
func (c *core) inventory(ctx context.Context) (use.Inventory, error) {
	bridges, err := c.routes.Bridges(ctx)
	if err != nil {
		return use.Inventory{}, err
	}
	has := use.Inventory{Installed: use.Of(bridges)}
	if c.catalog.Synced() {
		has.Catalog = &use.Catalog{Recipes: c.catalog.Current().Len(), Publishers: len(c.catalog.Publishers())}
	}
	return has, nil
}

// popularity returns what tells the catalog how popular its recipes are.
func (c *core) popularity() *use.Counter {
	sources := use.Sources{Bridges: c.awaitBridges, Set: c.catalog.SetPopularity, Clock: clock.System{}, Log: c.log}
	if c.audit.Index != nil {
		sources.Uses = c.audit.Index.Uses
	}
	return use.NewCounter(sources)
}

// awaitBridges returns all bridges, once they are known.
func (c *core) awaitBridges(ctx context.Context) ([]*effective.Bridge, error) {
	for {
		changed := c.routes.Changed()
		bridges, err := c.routes.Bridges(ctx)
		if !errors.Is(err, watch.ErrUnknown) {
			return bridges, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-changed:
		}
	}
}
