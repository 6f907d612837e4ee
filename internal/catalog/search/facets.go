// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// facets are the properties that filters compare, in few bytes. Lists keep them
// side by side, since reading ten thousand recipes takes much longer than the
// rest of a request. Hashes exclude for certain and match only probably.
type facets struct {
	flags    uint8
	category uint32
	// tags has a bit for each tag.
	tags uint64
}

const (
	flagVerified uint8 = 1 << iota
	flagDeprecated
	flagHostedSafe
	flagHere
)

// hash is of a word in any case.
func hash(word string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(word)))
	return h.Sum32()
}

func tagBit(tag string) uint64 { return 1 << (hash(tag) % 64) }

func facetsOf(i *Item) facets {
	f := facets{category: hash(i.View.Metadata.Category)}
	if v := i.View.Verified; v != nil && *v {
		f.flags |= flagVerified
	}
	if i.Entry.Deprecated != nil {
		f.flags |= flagDeprecated
	}
	if i.View.Listing.HostedSafe {
		f.flags |= flagHostedSafe
	}
	if h := i.Entry.Here; h != nil && h.Runs {
		f.flags |= flagHere
	}
	for _, tag := range i.View.Metadata.Tags {
		f.tags |= tagBit(tag)
	}
	return f
}

// filter is a query's filters, as facets are compared with.
type filter struct {
	query Query
	// The flags of mask must be those of want.
	mask, want uint8
	category   uint32
	tag        uint64
	// whole means that the recipe itself has to be checked after its facets.
	whole bool
}

func filterOf(q Query) filter {
	f := filter{query: q, whole: q.Category != "" || q.Tag != "" || q.Transport != "" || q.Owner != ""}
	for flag, wanted := range map[uint8]*bool{flagVerified: q.Verified, flagDeprecated: q.Deprecated, flagHere: q.Here} {
		if wanted == nil {
			continue
		}
		f.mask |= flag
		if *wanted {
			f.want |= flag
		}
	}
	if q.HostedSafe {
		f.mask |= flagHostedSafe
		f.want |= flagHostedSafe
	}
	if q.Category != "" {
		f.category = hash(q.Category)
	}
	if q.Tag != "" {
		f.tag = tagBit(q.Tag)
	}
	return f
}

// all reports whether the filter keeps everything.
func (f *filter) all() bool { return f.mask == 0 && !f.whole }

func (f *filter) keeps(c facets, i *Item) bool {
	return c.flags&f.mask == f.want &&
		(f.query.Category == "" || c.category == f.category) &&
		c.tags&f.tag == f.tag &&
		(!f.whole || f.keepsItem(i))
}

func (f *filter) keepsItem(i *Item) bool {
	q, m := &f.query, &i.View.Metadata
	return (q.Category == "" || strings.EqualFold(q.Category, m.Category)) &&
		(q.Tag == "" || slices.ContainsFunc(m.Tags, func(tag string) bool { return strings.EqualFold(q.Tag, tag) })) &&
		(q.Transport == "" || slices.ContainsFunc(i.View.Transports, func(t recipe.Transport) bool { return string(t.Type) == q.Transport })) &&
		(q.Owner == "" || q.Owner == i.Entry.Owner)
}
