// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientdoc

import (
	"container/list"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// maxKept is how many answers are kept, of some KiB at most each.
const maxKept = 1000

// answer is a client, or why there is none.
type answer struct {
	client flow.Client
	err    error
}

// cache keeps answers for as long as they are good, and of those who are asked
// for the longest ago none when there are too many.
type cache struct {
	mu    sync.Mutex
	of    map[string]*list.Element
	order list.List // the last asked for is first
}

type entry struct {
	id  string
	end time.Time
	answer
}

func newCache() *cache { return &cache{of: map[string]*list.Element{}} }

func (c *cache) get(id string, now time.Time) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.of[id]
	if !ok {
		return answer{}, false
	}
	kept := e.Value.(*entry)
	if !now.Before(kept.end) {
		c.remove(e)
		return answer{}, false
	}
	c.order.MoveToFront(e)
	return kept.answer, true
}

func (c *cache) put(id string, a answer, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.of[id]; ok {
		c.remove(e)
	}
	c.of[id] = c.order.PushFront(&entry{id: id, end: end, answer: a})
	if c.order.Len() > maxKept {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(e *list.Element) {
	c.order.Remove(e)
	delete(c.of, e.Value.(*entry).id)
}
