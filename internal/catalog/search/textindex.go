// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// The weight of a word by its place. A stem and a synonym count a part of it.
const (
	weightName        = 16
	weightTag         = 8
	weightCategory    = 6
	weightDescription = 4
	weightOther       = 2
	// weightWhole is for a recipe whose id is the whole search.
	weightWhole = 200
)

// textIndex finds recipes by their words. A recipe's score depends on its own
// words alone, so pages stay in order when others change. Most recipes are in
// an index that is built again only after some share of them has changed; newer
// recipes are searched one by one.
type textIndex struct {
	index *index
	// stale are the places in index of recipes that no longer exist.
	stale map[int32]bool
	fresh []indexed
}

// indexed is a recipe with its words in alphabetical order.
type indexed struct {
	item  *Item
	words []weighted
}

type weighted struct {
	word   string
	weight uint8
}

// index is for each word the recipes that have it.
type index struct {
	// items are sorted by name.
	items    []scored
	places   map[string]int32
	words    []string
	postings [][]posting
}

type posting struct {
	place  int32
	weight uint8
}

// freshShare and freshMin bound how many recipes are searched one by one: some
// hundred take less time than the rest of a request.
const (
	freshShare = 16
	freshMin   = 64
)

func newTextIndex(items map[string]*Item) textIndex {
	x := &index{items: make([]scored, 0, len(items)), places: make(map[string]int32, len(items))}
	postings := make(map[string][]posting)
	for _, name := range slices.Sorted(maps.Keys(items)) {
		place := int32(len(x.items)) //nolint:gosec // Nobody has so many recipes.
		x.items = append(x.items, scored{item: items[name], facets: items[name].facets})
		x.places[name] = place
		for _, w := range itemWords(items[name].Entry.Recipe) {
			postings[w.word] = append(postings[w.word], posting{place, w.weight})
		}
	}
	x.words = make([]string, 0, len(postings))
	for word := range postings {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	x.postings = make([][]posting, len(x.words))
	for i, word := range x.words {
		x.postings[i] = slices.Clip(postings[word])
	}
	return textIndex{index: x}
}

// with returns the texts after the recipes of these names have changed to what
// is in items, or went.
func (t textIndex) with(touched []string, items map[string]*Item) textIndex {
	next := textIndex{index: t.index, stale: make(map[int32]bool, len(t.stale)+len(touched))}
	for place := range t.stale {
		next.stale[place] = true
	}
	gone := make(map[string]bool, len(touched))
	for _, name := range touched {
		gone[name] = true
		if place, there := t.index.places[name]; there {
			next.stale[place] = true
		}
	}
	if len(next.stale)+len(t.fresh)+len(touched) > freshMin+len(items)/freshShare {
		return newTextIndex(items)
	}
	for _, f := range t.fresh {
		if !gone[f.item.Entry.Name] {
			next.fresh = append(next.fresh, f)
		}
	}
	for name := range gone {
		if item, there := items[name]; there {
			next.fresh = append(next.fresh, indexed{item, itemWords(item.Entry.Recipe)})
		}
	}
	return next
}

// search yields the recipes that have all words, and how well they match. The
// last word may be incomplete.
func (t textIndex) search(text string, words []string) iter.Seq[scored] {
	text = strings.ToLower(strings.TrimSpace(text))
	terms := termsOf(words)
	return func(yield func(scored) bool) {
		whole, there := t.index.places[text]
		for place, score := range t.index.search(terms) {
			if score == 0 || len(t.stale) > 0 && t.stale[int32(place)] {
				continue
			}
			hit := t.index.items[place]
			hit.key = fit(hit.facets, score, there && int(whole) == place)
			if !yield(hit) {
				return
			}
		}
		for _, f := range t.fresh {
			score := f.score(terms)
			if score == 0 {
				continue
			}
			hit := scored{item: f.item, facets: f.item.facets}
			hit.key = fit(hit.facets, score, f.item.Entry.Name == text)
			if !yield(hit) {
				return
			}
		}
	}
}

// fit ranks the recipe whose whole name was typed first, and deprecated ones
// after others.
func fit(f facets, score int, whole bool) int64 {
	if whole {
		score += weightWhole
	}
	if f.flags&flagDeprecated != 0 {
		score /= 2
	}
	return int64(max(score, 1))
}

// search returns a score for each place, 0 for those that lack a word.
func (x *index) search(terms []term) []int {
	scores := make([]int, len(x.items))
	best := make([]int, len(x.items))
	for n, t := range terms {
		clear(best)
		for i, share := range t.among(len(x.words), func(i int) string { return x.words[i] }) {
			for _, p := range x.postings[i] {
				best[p.place] = max(best[p.place], worth(p.weight, share))
			}
		}
		for place, b := range best {
			switch {
			case b == 0 && !t.optional:
				scores[place] = 0
			case n == 0 || scores[place] > 0:
				scores[place] += b
			}
		}
	}
	return scores
}

// among yields the places of a term's words in an alphabetical list, each with
// the share of its weight that it counts.
func (t term) among(n int, word func(int) string) iter.Seq2[int, uint8] {
	find := func(text string) int { return sort.Search(n, func(i int) bool { return word(i) >= text }) }
	return func(yield func(int, uint8) bool) {
		for _, f := range t.forms {
			if i := find(f.word); i < n && word(i) == f.word && !yield(i, f.share) {
				return
			}
		}
		if t.begun == "" {
			return
		}
		for i := find(t.begun); i < n && strings.HasPrefix(word(i), t.begun); i++ {
			if !yield(i, shareBegun) {
				return
			}
		}
	}
}

// worth is at least 1: a word that was found counts.
func worth(weight, share uint8) int { return max(1, int(weight)*int(share)/shares) }

func (d indexed) score(terms []term) int {
	total := 0
	for _, t := range terms {
		best := 0
		for i, share := range t.among(len(d.words), func(i int) string { return d.words[i].word }) {
			best = max(best, worth(d.words[i].weight, share))
		}
		if best == 0 && !t.optional {
			return 0
		}
		total += best
	}
	return total
}

// itemWords returns a recipe's words and their stems in alphabetical order, each
// once with the highest of its weights.
func itemWords(r recipe.Recipe) []weighted {
	weights := make(map[string]uint8)
	add := func(weight uint8, list ...string) {
		for _, text := range list {
			for _, word := range wordsOf(text) {
				weights[word] = max(weights[word], weight)
				stem := stemOf(word)
				weights[stem] = max(weights[stem], weight*shareStem/shares)
			}
		}
	}
	m := r.Metadata
	add(weightName, r.ID, r.Name)
	add(weightTag, m.Tags...)
	add(weightCategory, m.Category, m.Subcategory)
	add(weightDescription, r.Description)
	add(weightOther, m.Author, m.Origin)
	add(weightOther, r.Capabilities.ToolNames...)
	if m.Maintainer != nil {
		add(weightOther, m.Maintainer.Name)
	}
	for _, tool := range m.ToolExamples {
		add(weightOther, tool.Name, tool.Description)
	}
	if r.Install != nil {
		add(weightOther, r.Install.Package, r.Install.Image)
	}
	out := make([]weighted, 0, len(weights))
	for word, weight := range weights {
		out = append(out, weighted{word, weight})
	}
	slices.SortFunc(out, func(a, b weighted) int { return strings.Compare(a.word, b.word) })
	return out
}
