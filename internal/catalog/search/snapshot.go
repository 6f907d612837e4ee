// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search finds recipes: by name, by words, and by their properties. A
// Snapshot is one state of the catalog and never changes.
package search

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// Snapshot is the catalog at one moment. It is never changed, and may be used
// from many goroutines at once.
type Snapshot struct {
	// entries are all entries, items those that are served.
	entries    map[string]*catalog.Entry
	items      map[string]*Item
	popularity map[string]int64
	texts      textIndex
	orders     map[Sort]func() []scored
}

// Page is a part of a list.
type Page struct {
	Items []*Item
	// Total is how many recipes there are on all pages.
	Total int
	// Next is the cursor of the page after this one, empty on the last one.
	Next string
}

// NewSnapshot returns the catalog of these entries. popularity says how much a
// recipe is used, in any unit; nil means that it is not known.
func NewSnapshot(entries []catalog.Entry, popularity map[string]int64) *Snapshot {
	s := &Snapshot{entries: make(map[string]*catalog.Entry, len(entries)), items: make(map[string]*Item, len(entries)), popularity: popularity}
	for _, e := range entries {
		s.put(e)
	}
	s.texts = newTextIndex(s.items)
	s.order()
	return s
}

// With returns the catalog after some recipes were added or changed, and others
// removed. Its cost depends on their number.
func (s *Snapshot) With(changed []catalog.Entry, removed []string) *Snapshot {
	next := &Snapshot{entries: maps.Clone(s.entries), items: maps.Clone(s.items), popularity: s.popularity}
	touched := make([]string, 0, len(changed)+len(removed))
	for _, name := range removed {
		delete(next.entries, name)
		delete(next.items, name)
		touched = append(touched, name)
	}
	for _, e := range changed {
		delete(next.items, e.Name)
		next.put(e)
		touched = append(touched, e.Name)
	}
	next.texts = s.texts.with(touched, next.items)
	next.order()
	return next
}

// WithPopularity returns the same catalog with other figures of its use.
func (s *Snapshot) WithPopularity(popularity map[string]int64) *Snapshot {
	next := &Snapshot{entries: s.entries, items: s.items, popularity: popularity, texts: s.texts}
	next.order()
	return next
}

func (s *Snapshot) put(e catalog.Entry) {
	if !e.Accepted {
		s.entries[e.Name] = &e
		return
	}
	item := NewItem(e)
	s.items[e.Name], s.entries[e.Name] = item, &item.Entry
}

// order prepares the orders; each is computed at its first use.
func (s *Snapshot) order() {
	s.orders = make(map[Sort]func() []scored, len(Sorts))
	for _, by := range Sorts {
		s.orders[by] = sync.OnceValue(func() []scored {
			list := make([]scored, 0, len(s.items))
			for _, i := range s.items {
				list = append(list, scored{item: i, facets: i.facets, key: i.key(by, s.popularity)})
			}
			slices.SortFunc(list, compareScored)
			return list
		})
	}
}

// Get returns a recipe that is served.
func (s *Snapshot) Get(name string) (*Item, bool) {
	i, ok := s.items[name]
	return i, ok
}

// Entry returns an entry, even if its recipe is not served.
func (s *Snapshot) Entry(name string) (catalog.Entry, bool) {
	if e, there := s.entries[name]; there {
		return *e, true
	}
	return catalog.Entry{}, false
}

// Owned returns how many names are the owner's, also of recipes that are not
// served.
func (s *Snapshot) Owned(owner string) int {
	n := 0
	for _, e := range s.entries {
		if e.Owner == owner {
			n++
		}
	}
	return n
}

// Entries returns all entries by name, including those that are not served.
func (s *Snapshot) Entries() []catalog.Entry {
	all := make([]catalog.Entry, 0, len(s.entries))
	for _, e := range s.entries {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b catalog.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Len returns how many recipes are served.
func (s *Snapshot) Len() int { return len(s.items) }

// Popularity returns how much a recipe is used, in the unit that NewSnapshot was
// given.
func (s *Snapshot) Popularity(name string) int64 { return s.popularity[name] }
