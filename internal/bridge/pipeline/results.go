// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"container/list"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// resultCache holds the most recently used results. Its owner guards it against concurrent use, and
// decides which results to keep and for how long.
type resultCache struct {
	entries, bytes int // the bounds
	used           int
	order          *list.List // of *cached, most recently used first
	found          map[string]*list.Element
}

// cached is one result.
type cached struct {
	key     string
	value   []byte
	expires time.Time
}

// cachedOverhead is the approximate memory of a result in bytes besides its key and value: the list's
// element, the entry and the map's slot.
const cachedOverhead = 256

func (e *cached) size() int { return len(e.key) + len(e.value) + cachedOverhead }

// newResultCache returns a cache with room for the given numbers of entries and bytes.
func newResultCache(entries, bytes int) *resultCache {
	return &resultCache{entries: entries, bytes: bytes, order: list.New(), found: map[string]*list.Element{}}
}

// Get returns the value under key and when it expires. The value must not be
// changed.
func (c *resultCache) Get(key string, now time.Time) (value []byte, expires time.Time, ok bool) {
	element, ok := c.found[key]
	if !ok {
		return nil, time.Time{}, false
	}
	e, _ := element.Value.(*cached)
	if !now.Before(e.expires) {
		c.remove(element)
		return nil, time.Time{}, false
	}
	c.order.MoveToFront(element)
	return e.value, e.expires, true
}

// Put stores value under key until it expires, and takes ownership of value. The least recently
// used entries make room. A value larger than the cache is not stored.
func (c *resultCache) Put(key string, value []byte, expires time.Time) {
	if element, ok := c.found[key]; ok {
		c.remove(element)
	}
	e := &cached{key: key, value: value, expires: expires}
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
func (c *resultCache) Drop(prefix string) {
	for key, element := range c.found {
		if strings.HasPrefix(key, prefix) {
			c.remove(element)
		}
	}
}

func (c *resultCache) remove(element *list.Element) {
	e, _ := c.order.Remove(element).(*cached)
	delete(c.found, e.key)
	c.used -= e.size()
}

// Bytes returns the approximate memory in use.
func (c *resultCache) Bytes() int { return c.used }

// Len returns the number of entries, including expired ones.
func (c *resultCache) Len() int { return c.order.Len() }

// resultKey joins parts so that different parts never result in the same key. The key of the first parts
// is a prefix of the key of all parts.
func resultKey(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// canonicalArguments returns the canonical JSON of a call's arguments: equal arguments have equal texts,
// different arguments have different texts. No arguments equal an empty object. It fails on
// arguments that servers may parse differently.
func canonicalArguments(arguments []byte) (string, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return "{}", nil
	}
	return jsondoc.CanonicalExact(arguments)
}
