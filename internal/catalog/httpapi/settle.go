// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// settled waits until what was written is served here, so that its writer reads
// it, and returns the entry as it is then; what was written itself where that
// takes too long.
func (a *API) settled(ctx context.Context, written catalog.Entry, serves func(catalog.Entry, bool) bool) catalog.Entry {
	e, there := a.await(ctx, written.Name, serves)
	if !there || !serves(e, there) && e.Pending == nil && e.Refused == "" {
		return written
	}
	return e
}

// await waits until the catalog that is known here has the recipe as it should,
// or has not, and returns what it has in the end. The wait is bounded: the
// operator may be away.
func (a *API) await(ctx context.Context, name string, reached func(catalog.Entry, bool) bool) (catalog.Entry, bool) {
	patience := time.NewTimer(a.settle)
	defer patience.Stop()
	for {
		changed := a.store.Changed() // Before the look, so that no change is missed.
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

// awaitKey waits until a publisher's key works here, or does not.
func (a *API) awaitKey(ctx context.Context, publisher, keyID string, works bool) {
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
