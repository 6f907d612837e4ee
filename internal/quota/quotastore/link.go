// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// tellAtOnce is how many users one report to the store covers. The store
	// needs some milliseconds for it, and answers no other request meanwhile.
	tellAtOnce = 200
	// tellTimeout is how long it has for that. No call waits for it.
	tellTimeout = 2 * time.Second
)

// shared is a store in which all replicas count together. Its methods have time
// limits of their own.
type shared interface {
	// take takes what is wanted. It returns ErrForgotten when the store
	// has another memory, and has taken nothing then.
	take(ctx context.Context, q Inquiry) (quota.Reply, error)
	// beat tells the store of this replica.
	beat(ctx context.Context) (Presence, error)
	// tell reports what is in flight of several users, tellAtOnce at most.
	tell(ctx context.Context, told map[types.UID]quota.Slots) error
	// leave removes this replica from the store, and ends the connections.
	leave(ctx context.Context)
}

// link is what this replica knows of the shared store.
type link struct {
	shared
	// tried is whether it was asked since there is something to ask it with.
	tried atomic.Bool
	// up is whether it is asked, and memory what it is asked for.
	up     atomic.Bool
	memory atomic.Pointer[memory]
	// learning is held by the goroutine that asks whether the store's memory
	// has changed.
	learning sync.Mutex
	// ahead is by how much its clock is ahead of ours, in nanoseconds.
	ahead atomic.Int64
	// replicas is how many replicas were counted when the store last answered.
	replicas atomic.Int64
	// untold are the bridges whose calls must be reported, and telling receives
	// when there is one.
	untold  sync.Map
	telling chan struct{}
}

// memory is one time in which the store has answered and kept what it was told.
type memory struct {
	// epoch counts them.
	epoch int64
	// marker is the store's own name for it.
	marker string
}

func newLink(store shared) *link {
	l := &link{shared: store, telling: make(chan struct{}, 1)}
	l.memory.Store(&memory{})
	return l
}

// beat tells the store of this replica, notes how many there are, and returns
// the store's marker.
func (l *link) beat(ctx context.Context) (marker string, err error) {
	p, err := l.shared.beat(ctx)
	if err != nil {
		return "", err
	}
	l.replicas.Store(p.Replicas)
	return p.Marker, nil
}
