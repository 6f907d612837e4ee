// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"slices"
	"sort"
)

// scored is an item with the number by which it is sorted.
type scored struct {
	item   *Item
	key    int64
	facets facets
}

// compareScored orders by falling keys, and rising names among equal ones.
func compareScored(a, b scored) int {
	if a.key != b.key {
		return cmp.Compare(b.key, a.key)
	}
	return cmp.Compare(a.item.Entry.Name, b.item.Entry.Name)
}

// List returns a page of the recipes that the query asks for. Its error is a
// QueryError.
func (s *Snapshot) List(q Query) (Page, error) {
	from, err := q.normalize()
	if err != nil {
		return Page{}, err
	}
	words := wordsOf(q.Text)
	if len(words) == 0 {
		if q.Text != "" {
			return Page{Items: []*Item{}}, nil // Only punctuation: no recipe matches.
		}
		return list(s.orders[q.Sort](), q, from), nil
	}
	t := top{from: from, most: q.Limit + 1}
	keeps := filterOf(q)
	for hit := range s.texts.search(q.Text, words) {
		if !keeps.keeps(hit.facets, hit.item) {
			continue
		}
		if q.Sort != SortRelevance {
			hit.key = hit.item.key(q.Sort, s.popularity)
		}
		t.add(hit)
	}
	return page(t.best, t.total, q), nil
}

// list returns a page of what is sorted already.
func list(all []scored, q Query, from cursor) Page {
	first := 0
	if from.name != "" {
		first = sort.Search(len(all), func(i int) bool { return from.after(all[i].key, all[i].item.Entry.Name) })
	}
	keeps := filterOf(q)
	if keeps.all() {
		return page(all[first:min(len(all), first+q.Limit+1)], len(all), q)
	}
	var found []scored
	total := 0
	for i := range all {
		if !keeps.keeps(all[i].facets, all[i].item) {
			continue
		}
		total++
		if i >= first && len(found) <= q.Limit {
			found = append(found, all[i])
		}
	}
	return page(found, total, q)
}

// page returns the results found. One more than the limit means another page.
func page(found []scored, total int, q Query) Page {
	p := Page{Total: total}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		last := found[len(found)-1]
		p.Next = cursor{q.Sort, last.key, last.item.Entry.Name}.String()
	}
	p.Items = make([]*Item, len(found))
	for i, r := range found {
		p.Items[i] = r.item
	}
	return p
}

// top keeps the first items after a cursor, in their order, and counts all. A
// page is so short that inserting costs less than sorting.
type top struct {
	from  cursor
	most  int
	best  []scored
	total int
}

func (t *top) add(r scored) {
	t.total++
	if t.from.name != "" && !t.from.after(r.key, r.item.Entry.Name) {
		return
	}
	if len(t.best) == t.most && compareScored(r, t.best[t.most-1]) > 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(t.best, r, compareScored)
	if len(t.best) == t.most {
		t.best = t.best[:t.most-1]
	}
	t.best = slices.Insert(t.best, at, r)
}
