// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// sweepInterval is how often unused accounts are removed.
const sweepInterval = time.Hour

// account is what this replica knows of one bridge's user.
type account struct {
	// state is what this replica counts on its own.
	state quota.State
	// seen is what the shared store said last, seenBy when by its clock, seenAt
	// by ours, and epoch in which of the times between two of its failures.
	seen           quota.State
	seenBy, seenAt time.Time
	epoch          int64
	// sharing is whether state goes on from seen, and debt what was allowed
	// since.
	sharing bool
	debt    quota.Debt
	// inFlight are the calls and the streams of this replica, and told what the
	// shared store was told of them.
	inFlight, told quota.Slots
	// freed is closed when one of them ends, nil while nobody waits for that.
	freed chan struct{}
	used  time.Time
}

// accounts are those of all bridges that were called.
type accounts struct {
	mu    sync.Mutex
	of    map[types.UID]*account
	swept time.Time
}

// update calls change with the account of a bridge, under its lock. change must
// not wait.
func (a *accounts) update(bridge types.UID, now time.Time, change func(*account)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.swept) > sweepInterval {
		a.sweep(now)
	}
	it := a.of[bridge]
	if it == nil {
		it = &account{}
		a.of[bridge] = it
	}
	it.used = now
	change(it)
}

func (a *accounts) sweep(now time.Time) {
	a.swept = now
	for bridge, it := range a.of {
		if it.inFlight == (quota.Slots{}) && now.Sub(it.used) > quota.KeepFor {
			delete(a.of, bridge)
		}
	}
}

// each calls look with every account.
func (a *accounts) each(look func(types.UID, *account)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for bridge, it := range a.of {
		look(bridge, it)
	}
}

// known returns the account of a bridge as it is, a new one for a new bridge.
func (a *accounts) known(bridge types.UID) account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.of[bridge]; it != nil {
		return *it
	}
	return account{}
}
