// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// catalog is what several servers offer together. It is immutable. Servers that
// are away keep their place in it with what they last listed, so that a name
// never comes to mean another server's tool.
type catalog struct {
	// lists are the entries by list method, as clients see them.
	lists map[string][]entry
}

// entry is one tool, prompt, resource or template.
type entry struct {
	key      string // the name or URI that clients use
	original string // the server's own
	raw      json.RawMessage
	upstream *upstream
	hidden   bool // whether its server is out of service, so that no list shows it
}

// buildCatalog joins the servers' lists, in the order of configuration. Tools
// and prompts are renamed; resources keep their URIs, and of two servers with
// the same URI the first has it.
func buildCatalog(upstreams []*upstream, items func(*upstream, string) []item) *catalog {
	c := &catalog{lists: map[string][]entry{}}
	for method, shape := range listOf {
		renamed := shape.key == "name"
		names := namer{}
		seen := map[string]bool{}
		entries := []entry{}
		for _, u := range upstreams {
			for _, it := range items(u, method) {
				e := entry{key: it.key, original: it.key, raw: it.raw, upstream: u, hidden: it.hidden}
				if renamed {
					e.key = names.name(u.server.Name, it.key)
					raw, err := withField(it.raw, shape.key, e.key)
					if err != nil {
						continue // itemsOf lets only objects through
					}
					e.raw = raw
				} else if seen[e.key] {
					continue
				}
				seen[e.key] = true
				entries = append(entries, e)
			}
		}
		c.lists[method] = entries
	}
	return c
}

// find returns the entry with the key in the list of method.
func (c *catalog) find(method, key string) (entry, bool) {
	for _, e := range c.lists[method] {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// owner returns the server that a resource belongs to: the one that lists it,
// else the one with the template whose fixed beginning it shares the most of.
func (c *catalog) owner(uri string) (*upstream, bool) {
	if e, ok := c.find(methodListResources, uri); ok {
		return e.upstream, true
	}
	var best *upstream
	longest := -1
	for _, e := range c.lists[methodListTemplates] {
		fixed, _, _ := strings.Cut(e.key, "{")
		if strings.HasPrefix(uri, fixed) && len(fixed) > longest {
			best, longest = e.upstream, len(fixed)
		}
	}
	return best, best != nil
}

// itemsOf returns the entries of a list result.
func itemsOf(method string, result *rawResult) ([]item, error) {
	shape := listOf[method]
	var raws []json.RawMessage
	if raw, ok := result.fields[shape.field]; ok {
		if err := json.Unmarshal(raw, &raws); err != nil {
			return nil, fmt.Errorf("parse %s: %w", shape.field, err)
		}
	}
	items := make([]item, 0, len(raws))
	for _, raw := range raws {
		var fields map[string]json.RawMessage
		var key string
		if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields[shape.key], &key) != nil || key == "" {
			continue // an entry without a name cannot be asked for
		}
		items = append(items, item{key: key, raw: raw})
	}
	return items, nil
}

// sameItems reports whether two lists show the same.
func sameItems(a, b []item) bool {
	return slices.EqualFunc(a, b, func(x, y item) bool {
		return x.key == y.key && x.hidden == y.hidden && string(x.raw) == string(y.raw)
	})
}
