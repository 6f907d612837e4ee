// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// updateInterval is how often the catalog gets new figures, and
	// retryInterval how soon after a failure: at the start it takes some
	// seconds until everything is loaded.
	updateInterval, retryInterval = 5 * time.Minute, 15 * time.Second
	// window is how long a call counts.
	window = 30 * 24 * time.Hour
	// recountInterval is how often all calls of the window are counted. In
	// between only newer calls are counted and added: meanwhile some older
	// calls leave the window, and some late ones are missing.
	recountInterval = 6 * time.Hour
	// timeout bounds one count. An SQLite file of 3,000,000 calls takes some ten
	// seconds.
	timeout = 2 * time.Minute
)

// Sources are the inputs of the popularity and its receiver. All are required
// but Uses.
type Sources struct {
	// Bridges returns all bridges, or an error while they are not known.
	Bridges func(ctx context.Context) ([]*effective.Bridge, error)
	// Uses returns the calls of each user and server from that time on and
	// before the other. If it is nil, bridges alone count.
	Uses func(ctx context.Context, from, to time.Time) ([]audit.Use, error)
	// Set receives the result. It keeps the map.
	Set   func(popularity map[string]int64)
	Clock clock.Clock
	Log   *slog.Logger
}

// Counter regularly computes how popular the catalog's recipes are.
type Counter struct {
	Sources
	// counted are the calls of the window at the last full count; since are the
	// calls after it.
	counted, since []audit.Use
	until          time.Time
	last           map[string]int64
}

// NewCounter returns a counter that has counted nothing yet.
func NewCounter(s Sources) *Counter { return &Counter{Sources: s} }

// Run updates the catalog's figures until ctx ends.
func (c *Counter) Run(ctx context.Context) error {
	for {
		pause := updateInterval
		if err := c.update(ctx); err != nil && ctx.Err() == nil {
			pause = retryInterval
			c.Log.WarnContext(ctx, "the popularity of recipes is out of date", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(pause):
		}
	}
}

// update computes the figures and sets them. If calls cannot be counted, the
// earlier ones count.
func (c *Counter) update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bridges, err := c.Bridges(ctx)
	if err != nil {
		return err
	}
	err = c.count(ctx)
	found := Of(bridges).Popularity(c.counted, c.since)
	if c.last == nil || !maps.Equal(found, c.last) { // The catalog's order is computed again, and waiting goroutines are woken.
		c.last = found
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
	from, all := c.until, c.until.IsZero() || now.Sub(c.until) >= recountInterval
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
