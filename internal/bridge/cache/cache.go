// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps results of tools that only read, for calls with the same
// arguments. What may be kept and for how long is for others to say.
//
// The package is pure: times are arguments.
package cache

import (
	"container/list"
	"strings"
	"time"
)

// Cache holds the results that were used last. Who shares it guards it.
type Cache struct {
	entries, bytes int // the bounds
	used           int
	order          *list.List // of *entry, the one used last first
	found          map[string]*list.Element
}

// entry is one result.
type entry struct {
	key     string
	value   []byte
	expires time.Time
}

// overhead is about what an entry takes besides its key and value, in bytes:
// the list's element, the entry and the map's slot.
const overhead = 256

func (e *entry) size() int { return len(e.key) + len(e.value) + overhead }

// New returns a cache of at most that many entries and bytes.
func New(entries, bytes int) *Cache {
	return &Cache{entries: entries, bytes: bytes, order: list.New(), found: map[string]*list.Element{}}
}

// Get returns the value under key and when it expires. The value must not be
// changed.
func (c *Cache) Get(key string, now time.Time) (value []byte, expires time.Time, ok bool) {
	element, ok := c.found[key]
	if !ok {
		return nil, time.Time{}, false
	}
	e, _ := element.Value.(*entry)
	if !now.Before(e.expires) {
		c.remove(element)
		return nil, time.Time{}, false
	}
	c.order.MoveToFront(element)
	return e.value, e.expires, true
}

// Put keeps value, which the cache takes over, under key until expires. What
// was used least recently makes room; a value larger than the cache is not
// kept.
func (c *Cache) Put(key string, value []byte, expires time.Time) {
	if element, ok := c.found[key]; ok {
		c.remove(element)
	}
	e := &entry{key: key, value: value, expires: expires}
	if e.size() > c.bytes {
		return
	}
	c.found[key] = c.order.PushFront(e)
	c.used += e.size()
	for c.used > c.bytes || c.order.Len() > c.entries {
		c.remove(c.order.Back())
	}
}

// Drop forgets what is kept under the keys that begin with prefix.
func (c *Cache) Drop(prefix string) {
	for key, element := range c.found {
		if strings.HasPrefix(key, prefix) {
			c.remove(element)
		}
	}
}

func (c *Cache) remove(element *list.Element) {
	e, _ := c.order.Remove(element).(*entry)
	delete(c.found, e.key)
	c.used -= e.size()
}

// Bytes returns about how much memory is in use.
func (c *Cache) Bytes() int { return c.used }

// Len returns the number of entries, those that have expired included.
func (c *Cache) Len() int { return c.order.Len() }
