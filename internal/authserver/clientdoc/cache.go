// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientdoc

import (
	"container/list"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// maxKept is how many clients are kept, of some KiB at most each.
	maxKept = 1000
	// maxFailures is how many ids are kept where there is no client. Anybody can
	// name as many as they like, so that these take the place of no client.
	maxFailures = 200
	// sites is how many sites it takes to fill a cache: one alone, which may have a
	// client at each of its URLs, has the others' part of it left to them.
	sites = 4
)

// answer is a client, or why there is none.
type answer struct {
	client flow.Client
	err    error
}

// cache keeps answers, and of those who are asked for the longest ago none when
// there are too many.
type cache struct {
	max int

	mu    sync.Mutex
	of    map[string]*list.Element
	from  map[string]int // How many are kept of a site.
	order list.List      // The last asked for is first.
}

type entry struct {
	id, site string
	answer
	// end is until when the answer is good, and last until when it is kept for the
	// case that there is no other.
	end, last time.Time
}

func newCache(most int) *cache {
	return &cache{max: most, of: map[string]*list.Element{}, from: map[string]int{}}
}

// get returns what is kept, which may be past its end.
func (c *cache) get(id string, now time.Time) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.of[id]
	if !ok {
		return entry{}, false
	}
	kept := e.Value.(entry)
	if !now.Before(kept.last) {
		c.drop(e)
		return entry{}, false
	}
	c.order.MoveToFront(e)
	return kept, true
}

func (c *cache) put(kept entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.of[kept.id]; ok {
		c.drop(e)
	}
	c.of[kept.id] = c.order.PushFront(kept)
	c.from[kept.site]++
	switch {
	case c.from[kept.site] > c.max/sites:
		c.drop(c.oldest(kept.site))
	case c.order.Len() > c.max:
		c.drop(c.order.Back())
	}
}

func (c *cache) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.of[id]; ok {
		c.drop(e)
	}
}

// oldest returns the one of a site that was asked for the longest ago. There is
// one, and the caller holds c.mu.
func (c *cache) oldest(site string) *list.Element {
	e := c.order.Back()
	for e.Value.(entry).site != site {
		e = e.Prev()
	}
	return e
}

// drop removes what is kept. The caller holds c.mu.
func (c *cache) drop(e *list.Element) {
	kept := c.order.Remove(e).(entry)
	delete(c.of, kept.id)
	if c.from[kept.site]--; c.from[kept.site] == 0 {
		delete(c.from, kept.site)
	}
}
