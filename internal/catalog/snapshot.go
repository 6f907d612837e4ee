// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"sync"
)

// Snapshot is the catalog at one moment. It is never changed, and may be used
// from many goroutines at once.
type Snapshot struct {
	// entries are all, items those that are served.
	entries    map[string]Entry
	items      map[string]*Item
	popularity map[string]int64
	texts      texts
	orders     map[Sort]func() []*Item
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
// recipe is used, in any unit; nil is that nobody knows.
func NewSnapshot(entries []Entry, popularity map[string]int64) *Snapshot {
	s := &Snapshot{entries: make(map[string]Entry, len(entries)), items: make(map[string]*Item, len(entries)), popularity: popularity}
	for _, e := range entries {
		s.put(e)
	}
	s.texts = newTexts(s.items)
	s.order()
	return s
}

// With returns the catalog after some recipes were added or changed, and others
// went. What it costs depends on how many they are.
func (s *Snapshot) With(changed []Entry, removed []string) *Snapshot {
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

func (s *Snapshot) put(e Entry) {
	s.entries[e.Name] = e
	if e.Accepted {
		s.items[e.Name] = NewItem(e)
	}
}

// order prepares the orders, each of which is made when it is first asked for.
func (s *Snapshot) order() {
	s.orders = make(map[Sort]func() []*Item, len(Sorts))
	for _, by := range Sorts {
		s.orders[by] = sync.OnceValue(func() []*Item {
			items := slices.Collect(maps.Values(s.items))
			slices.SortFunc(items, func(a, b *Item) int {
				return cmp.Or(cmp.Compare(b.key(by, s.popularity), a.key(by, s.popularity)), cmp.Compare(a.Entry.Name, b.Entry.Name))
			})
			return items
		})
	}
}

// Get returns a recipe that is served.
func (s *Snapshot) Get(name string) (*Item, bool) {
	i, ok := s.items[name]
	return i, ok
}

// Entry returns an entry, also of a recipe that is not served.
func (s *Snapshot) Entry(name string) (Entry, bool) {
	e, ok := s.entries[name]
	return e, ok
}

// Entries returns all entries by name, also those that are not served.
func (s *Snapshot) Entries() []Entry {
	return slices.SortedFunc(maps.Values(s.entries), func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// Len returns how many recipes are served.
func (s *Snapshot) Len() int { return len(s.items) }

// Popularity returns how much a recipe is used, in the unit that NewSnapshot was
// given.
func (s *Snapshot) Popularity(name string) int64 { return s.popularity[name] }

// ranked is an item with the number by which it is sorted.
type ranked struct {
	item *Item
	key  int64
}

// List returns a page of the recipes that the query asks for. Its error is a
// QueryError.
func (s *Snapshot) List(q Query) (Page, error) {
	from, err := q.normalize()
	if err != nil {
		return Page{}, err
	}
	found := s.find(q)
	p := Page{Total: len(found)}
	first := sort.Search(len(found), func(i int) bool { return from.after(found[i].key, found[i].item.Entry.Name) })
	rest := found[first:]
	if len(rest) > q.Limit {
		rest = rest[:q.Limit]
		last := rest[len(rest)-1]
		p.Next = cursor{q.Sort, last.key, last.item.Entry.Name}.String()
	}
	p.Items = make([]*Item, len(rest))
	for i, r := range rest {
		p.Items[i] = r.item
	}
	return p, nil
}

// find returns all that the query asks for, in its order.
func (s *Snapshot) find(q Query) []ranked {
	words := wordsOf(q.Text)
	if len(words) == 0 {
		if q.Text != "" {
			return nil // Nothing but signs: no recipe has that.
		}
		return s.filter(s.orders[q.Sort](), q)
	}
	var found []ranked
	for item, score := range s.texts.search(q.Text, words) {
		if !item.matches(q) {
			continue
		}
		key := int64(score)
		if q.Sort != SortRelevance {
			key = item.key(q.Sort, s.popularity)
		}
		found = append(found, ranked{item, key})
	}
	slices.SortFunc(found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.item.Entry.Name, b.item.Entry.Name))
	})
	return found
}

func (s *Snapshot) filter(items []*Item, q Query) []ranked {
	found := make([]ranked, 0, len(items))
	for _, i := range items {
		if i.matches(q) {
			found = append(found, ranked{i, i.key(q.Sort, s.popularity)})
		}
	}
	return found
}
