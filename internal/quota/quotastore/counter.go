// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// countSweep is how often unused accounts are removed.
const countSweep = time.Hour

// Counter counts for all replicas. It is safe for concurrent use.
type Counter struct {
	path  string // empty for no file
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	marker   string
	users    map[types.UID]*counted
	replicas Replicas
	swept    time.Time
	// changed means that the file lacks something.
	changed bool
}

// counted is that of the user of one bridge, and when it was used last, in
// microseconds of Unix time.
type counted struct {
	quota.Account

	Used int64
}

// Take takes what is wanted, all of it or nothing. It returns ErrForgotten,
// having done nothing, if the inquiry has another marker.
func (c *Counter) Take(q Inquiry) (quota.Reply, error) {
	if err := q.validate(); err != nil {
		return quota.Reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.Marker != c.marker {
		return quota.Reply{}, ErrForgotten
	}
	now := time.UnixMicro(c.clock.Now().UnixMicro())
	r, _ := c.account(q.Bridge, now).Take(q.Inquiry, now)
	return r, nil
}

// Beat notes that a replica is there.
func (c *Counter) Beat(replica string) Presence {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replicas.Note(replica, c.clock.Now())
	return Presence{Replicas: int64(len(c.replicas)), Marker: c.marker}
}

// Leave forgets a replica that has ended.
func (c *Counter) Leave(replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.replicas, replica)
}

// Tell notes what a replica has in flight of some users.
func (c *Counter) Tell(replica string, told map[types.UID]quota.Slots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for bridge, held := range told {
		if c.users[bridge] != nil || held != (quota.Slots{}) {
			c.account(bridge, now).Hold(replica, held, now)
		}
	}
}

// account returns that of a bridge, a new one for a new bridge. The caller holds
// the lock.
func (c *Counter) account(bridge types.UID, now time.Time) *counted {
	if now.Sub(c.swept) > countSweep {
		c.sweep(now)
	}
	a := c.users[bridge]
	if a == nil {
		a = &counted{}
		c.users[bridge] = a
	}
	a.Used, c.changed = now.UnixMicro(), true
	return a
}

func (c *Counter) sweep(now time.Time) {
	c.swept = now
	for bridge, a := range c.users {
		if now.Sub(time.UnixMicro(a.Used)) > quota.KeepFor {
			delete(c.users, bridge)
		}
	}
}
