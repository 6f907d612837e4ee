// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/rank"
)

// maxRenamed bounds what a report says of collisions: enough to see that there
// are some and where.
const maxRenamed = 32

// catalog is what the servers offer together. It is immutable. Servers that
// are away keep their place in it with what they last listed, so that a name
// never comes to mean another server's tool.
type catalog struct {
	// lists are the entries by list method, as clients see them. In mode Router
	// the tools have their servers' own names.
	lists map[string][]entry
	// renamed are the entries that collide with others, at most maxRenamed.
	renamed []health.Renamed
	// meta is the one tool that clients see in mode Router, else nil.
	meta json.RawMessage

	ranking sync.Once
	index   *rank.Index // of the tools, once somebody asked for it
}

// entry is one tool, prompt, resource or template.
type entry struct {
	naming
	key      string // the name or URI that clients use
	raw      json.RawMessage
	upstream *upstream
	hidden   bool // whether its server is out of service, so that no list shows it
}

// layout is what a catalog is made from.
type layout struct {
	mode      config.Mode
	prefix    config.Prefix
	upstreams []*upstream // in the order of configuration
	// registers are those of the methods whose entries have names.
	registers map[string]*register
}

// newRegisters returns registers of nothing.
func newRegisters() map[string]*register {
	return map[string]*register{methodListTools: newRegister(), methodListPrompts: newRegister()}
}

// plain reports whether the names of method's entries stay as they are: those of
// one server, and those of tools that are called through another one.
func (l layout) plain(method string) bool {
	return len(l.upstreams) == 1 || l.registers[method] == nil || l.mode == config.Router && method == methodListTools
}

// build joins the servers' lists.
func (l layout) build() *catalog {
	c := &catalog{lists: map[string][]entry{}}
	for _, method := range listMethods {
		entries := l.entries(method)
		switch {
		case l.registers[method] == nil:
			c.lists[method] = c.unique(method, entries)
		case l.plain(method):
			c.lists[method] = entries
		default:
			c.lists[method] = c.named(method, entries, l.registers[method].assign(l.prefix, featuresOf(entries)))
		}
	}
	if l.mode == config.Router {
		c.meta = metaTool(l.upstreams, c.lists[methodListTools])
	}
	return c
}

// entries returns what the servers list under their own names.
func (l layout) entries(method string) []entry {
	entries := []entry{}
	for _, u := range l.upstreams {
		for _, it := range u.offered(method) {
			entries = append(entries, entry{
				naming: naming{feature: feature{server: u.server.Name, original: it.key}},
				key:    it.key, raw: it.raw, upstream: u, hidden: it.hidden,
			})
		}
	}
	return entries
}

func featuresOf(entries []entry) []feature {
	features := make([]feature, len(entries))
	for i, e := range entries {
		features[i] = e.feature
	}
	return features
}

// unique keeps of several entries with one URI the first server's.
func (c *catalog) unique(method string, entries []entry) []entry {
	seen := map[string]bool{}
	kept := []entry{}
	for _, e := range entries {
		if seen[e.key] {
			c.report(method, "", e)
			continue
		}
		seen[e.key] = true
		kept = append(kept, e)
	}
	return kept
}

// named gives the entries their names.
func (c *catalog) named(method string, entries []entry, namings []naming) []entry {
	kept := []entry{}
	for i, e := range entries {
		e.naming = namings[i]
		e.key = e.name
		raw, err := withField(e.raw, listOf[method].key, e.key)
		if err != nil {
			continue // itemsOf lets only objects through
		}
		e.raw = raw
		if e.collided() {
			c.report(method, e.name, e)
		}
		kept = append(kept, e)
	}
	return kept
}

// report notes a collision. A name is empty where clients do not see the entry.
func (c *catalog) report(method, name string, e entry) {
	if len(c.renamed) < maxRenamed {
		c.renamed = append(c.renamed, health.NewRenamed(listOf[method].kind, name, e.server, e.upstream.granted().hide.Redact(e.original)))
	}
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
