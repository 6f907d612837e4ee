// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	use "github.com/hostedbridge/hostedbridge/internal/usage"
	"github.com/hostedbridge/hostedbridge/internal/usage/popularity"
)

// inventory returns what the installation has.
func (p *parts) inventory(ctx context.Context) (use.Inventory, error) {
	bridges, err := p.watcher.Bridges(ctx)
	if err != nil {
		return use.Inventory{}, err
	}
	has := use.Inventory{Installed: use.Of(bridges)}
	if p.catalog.Synced() {
		has.Catalog = &use.Catalog{Recipes: p.catalog.Current().Len(), Publishers: len(p.catalog.Publishers())}
	}
	return has, nil
}

// popularity returns what tells the catalog how popular its recipes are.
func (p *parts) popularity(log *slog.Logger) *popularity.Counter {
	sources := popularity.Sources{Bridges: p.awaitBridges, Set: p.catalog.SetPopularity, Clock: clock.System{}, Log: log}
	if p.index != nil {
		sources.Uses = p.index.Uses
	}
	return popularity.New(sources)
}

// awaitBridges returns all bridges, once they are known.
func (p *parts) awaitBridges(ctx context.Context) ([]*v1alpha1.HostedBridge, error) {
	for {
		changed := p.watcher.Changed()
		bridges, err := p.watcher.Bridges(ctx)
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
