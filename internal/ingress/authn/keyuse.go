// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// keyUseEvery is how often the use of one key is told on. What it is told
	// for looks at minutes.
	keyUseEvery = time.Minute
	// keyUsesFor is for how long keys are remembered, so that those that are
	// gone are forgotten.
	keyUsesFor = time.Hour
)

// keyUses are the keys whose use was told on of late, so that of most requests
// nothing needs to be.
type keyUses struct {
	told   sync.Map     // keyUse to *atomic.Int64, Unix nanoseconds.
	forget atomic.Int64 // When all are forgotten, Unix nanoseconds.
}

type keyUse struct {
	user v1alpha1.UserID
	id   string
}

// due reports whether the use of a key is to be told on.
func (k *keyUses) due(u keyUse, now time.Time) bool {
	n := now.UnixNano()
	if at := k.forget.Load(); n >= at && k.forget.CompareAndSwap(at, n+int64(keyUsesFor)) {
		k.told.Clear()
	}
	found, ok := k.told.Load(u)
	if !ok {
		found, _ = k.told.LoadOrStore(u, new(atomic.Int64))
	}
	last, _ := found.(*atomic.Int64)
	at := last.Load()
	return n-at >= int64(keyUseEvery) && last.CompareAndSwap(at, n)
}

// noteKeyUse has the status say that p's key is used.
func (a *Authenticator) noteKeyUse(t *route.Table, p Principal, now time.Time) {
	if !a.keyUses.due(keyUse{p.User, p.KeyID}, now) {
		return
	}
	if b, ok := t.Lookup(p.User); ok {
		a.activity.KeyUsed(b, p.KeyID, now)
	}
}
