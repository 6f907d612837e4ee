// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps results of read-only tools, for calls with the same arguments. Its callers
// decide which results to keep and for how long.
//
// The package is pure: times are arguments.
package cache

import (
	"container/list"
	"strings"
	"time"
)

// Cache holds the most recently used results. Its owner guards it against concurrent use.
type Cache struct {
	entries, bytes int // the bounds
	used           int
	order          *list.List // of *entry, most recently used first
	found          map[string]*list.Element
}

// entry is one result.
type entry struct {
	key     string
	value   []byte
	expires time.Time
}

// overhead is the approximate memory of an entry in bytes besides its key and value: the list's
// element, the entry and the map's slot.
const overhead = 256

func (e *entry) size() int { return len(e.key) + len(e.value) + overhead }

// New returns a cache with room for the given numbers of entries and bytes.
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

// Put stores value under key until it expires, and takes ownership of value. The least recently
// used entries make room. A value larger than the cache is not stored.
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

// Drop removes all entries whose keys start with prefix.
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

// Bytes returns the approximate memory in use.
func (c *Cache) Bytes() int { return c.used }

// Len returns the number of entries, including expired ones.
func (c *Cache) Len() int { return c.order.Len() }
