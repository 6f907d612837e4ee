// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"context"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// settled waits until this process serves what was written, so that its writer
// can read it, and returns the entry as it is then. If that takes too long, it
// returns what was written.
func (a *core) settled(ctx context.Context, written catalog.Entry, serves func(catalog.Entry, bool) bool) catalog.Entry {
	e, there := a.await(ctx, written.Name, serves)
	if !there || !serves(e, there) && e.Pending == nil && e.Refused == "" {
		return written
	}
	return e
}

// await waits until this process's catalog has the recipe in the wanted state,
// and returns the last state. The wait is bounded: the operator may be down.
func (a *core) await(ctx context.Context, name string, reached func(catalog.Entry, bool) bool) (catalog.Entry, bool) {
	patience := time.NewTimer(a.settle)
	defer patience.Stop()
	for {
		changed := a.store.Changed() // Before the read, so that no change is missed.
		var e catalog.Entry
		var there bool
		if s := a.store.Current(); s != nil {
			e, there = s.Entry(name)
		}
		if reached(e, there) {
			return e, there
		}
		select {
		case <-changed:
		case <-patience.C:
			return e, there
		case <-ctx.Done():
			return e, there
		}
	}
}

// awaitKey waits until a publisher's key is accepted here, or is not anymore.
func (a *core) awaitKey(ctx context.Context, publisher, keyID string, works bool) {
	a.await(ctx, "", func(catalog.Entry, bool) bool {
		p, _ := a.store.Publisher(publisher)
		for _, k := range p.Keys {
			if k.ID == keyID {
				return works == (k.RevokedAt == nil)
			}
		}
		return !works
	})
}
