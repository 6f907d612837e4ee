// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package popularity

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/usage"
)

const (
	// every is how often the catalog is told, and again is how soon after a
	// failure: at the start it takes some seconds until everything is known.
	every, again = 5 * time.Minute, 15 * time.Second
	// window is how long a call counts.
	window = 30 * 24 * time.Hour
	// recountEvery is how often all calls of the window are counted. In between
	// those since then are counted and added: of the rest some leave the window,
	// and some that were late are not there yet.
	recountEvery = 6 * time.Hour
	// timeout bounds one count. An SQLite file of 3,000,000 calls takes some ten
	// seconds.
	timeout = 2 * time.Minute
)

// Sources are what popularity is made of and who is told. All are required but
// Uses.
type Sources struct {
	// Bridges returns all bridges, or an error while they are not known.
	Bridges func(ctx context.Context) ([]*v1alpha1.HostedBridge, error)
	// Uses returns who called which server from that time on and before this one.
	// Without it, nil, bridges alone count.
	Uses func(ctx context.Context, from, to time.Time) ([]audit.Use, error)
	// Set takes what was found. It keeps the map.
	Set   func(popularity map[string]int64)
	Clock clock.Clock
	Log   *slog.Logger
}

// Counter tells the catalog.
type Counter struct {
	Sources
	// counted are the calls of the window when they were last all counted, up to
	// the time of that; since are those from then on.
	counted, since []audit.Use
	until          time.Time
	told           map[string]int64
}

// New returns a counter that has counted nothing yet.
func New(s Sources) *Counter { return &Counter{Sources: s} }

// Run tells the catalog until ctx ends.
func (c *Counter) Run(ctx context.Context) error {
	for {
		pause := every
		if err := c.tell(ctx); err != nil && ctx.Err() == nil {
			pause = again
			c.Log.WarnContext(ctx, "the popularity of recipes is out of date", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(pause):
		}
	}
}

// tell finds out and tells. Where calls cannot be counted, those count that were
// before.
func (c *Counter) tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bridges, err := c.Bridges(ctx)
	if err != nil {
		return err
	}
	err = c.count(ctx)
	found := usage.Of(bridges).Popularity(c.counted, c.since)
	if c.told == nil || !maps.Equal(found, c.told) { // The catalog's order is made anew, and those who wait for it are woken.
		c.told = found
		c.Set(found)
	}
	return err
}

// count brings the calls up to date.
func (c *Counter) count(ctx context.Context) error {
	if c.Uses == nil {
		return nil
	}
	now := c.Clock.Now()
	from, all := c.until, c.until.IsZero() || now.Sub(c.until) >= recountEvery
	if all {
		from = now.Add(-window)
	}
	uses, err := c.Uses(ctx, from, now)
	if err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	if all {
		c.counted, c.since, c.until = uses, nil, now
	} else {
		c.since = uses
	}
	return nil
}
