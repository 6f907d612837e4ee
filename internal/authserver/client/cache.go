// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"container/list"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// maxClients is how many clients are cached, of a few KiB each.
	maxClients = 1000
	// maxFailures is how many ids without a client are cached. Anybody can name as
	// many as they like, so they have a cache of their own.
	maxFailures = 200
	// sites is how many sites can fill a cache. One site, which may have a client at
	// each of its URLs, leaves the rest of the cache to others.
	sites = 4
)

// result is a client, or the error of looking it up.
type result struct {
	client flow.Client
	err    error
}

// cache keeps results. When there are too many, it drops the least recently used.
type cache struct {
	max int

	mu      sync.Mutex
	byID    map[string]*list.Element
	perSite map[string]int // The number of entries of a site.
	order   list.List      // The most recently used entry is first.
}

type entry struct {
	id, site string
	result
	// After expires the result is fetched again. Until removed it is used if that
	// fails.
	expires, removed time.Time
}

func newCache(most int) *cache {
	return &cache{max: most, byID: map[string]*list.Element{}, perSite: map[string]int{}}
}

// get returns an entry, which may have expired.
func (c *cache) get(id string, now time.Time) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return entry{}, false
	}
	cached := e.Value.(entry)
	if !now.Before(cached.removed) {
		c.drop(e)
		return entry{}, false
	}
	c.order.MoveToFront(e)
	return cached, true
}

func (c *cache) put(added entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[added.id]; ok {
		c.drop(e)
	}
	c.byID[added.id] = c.order.PushFront(added)
	c.perSite[added.site]++
	switch {
	case c.perSite[added.site] > c.max/sites:
		c.drop(c.oldest(added.site))
	case c.order.Len() > c.max:
		c.drop(c.order.Back())
	}
}

func (c *cache) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[id]; ok {
		c.drop(e)
	}
}

// oldest returns the least recently used entry of a site, which has one. The caller
// holds c.mu.
func (c *cache) oldest(site string) *list.Element {
	e := c.order.Back()
	for e.Value.(entry).site != site {
		e = e.Prev()
	}
	return e
}

// drop removes an entry. The caller holds c.mu.
func (c *cache) drop(e *list.Element) {
	dropped := c.order.Remove(e).(entry)
	delete(c.byID, dropped.id)
	if c.perSite[dropped.site]--; c.perSite[dropped.site] == 0 {
		delete(c.perSite, dropped.site)
	}
}
