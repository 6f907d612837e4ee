// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/bridge/listentry"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// maxRenamed limits the collisions in a report: enough to see where names collide.
const maxRenamed = 32

// Catalog joins the lists of all servers. It is immutable. Disconnected servers keep their last
// lists in it, so that a name never comes to mean another server's tool.
type Catalog struct {
	// Lists are the entries by list method, as clients see them. In mode Router, tools have the
	// names of their servers.
	Lists map[string][]Entry
	// Renamed are the entries that collide with others, at most maxRenamed.
	Renamed []health.Renamed
	// RouterTool is the one tool that clients see in mode Router, else nil.
	RouterTool json.RawMessage
	// StatusTool is the name of the bridge's own tool in mode Direct, which no server's tool has.
	StatusTool string

	ranking sync.Once
	index   *toolIndex // of the tools; built on first use
}

// Entry is one tool, prompt, resource or template.
type Entry struct {
	Assignment
	Key        string // the name or URI that clients use
	Raw        json.RawMessage
	Server     *upstream.Server
	Hidden     bool // whether no list shows it, because its server is out of service
	FromBridge bool // whether its server is a bridge
}

// Layout is the input of a catalog.
type Layout struct {
	Mode    bridgeconfig.Mode
	Naming  Naming
	Single  bool               // whether the user has one server whose names have no prefix
	Servers []*upstream.Server // in the order of the configuration
	// Registers are the registries of the methods whose entries have names.
	Registers map[string]*Registry
	// RouterTool builds the one tool that clients see in mode Router.
	RouterTool func(upstreams []*upstream.Server, tools []Entry) json.RawMessage
}

// NewRegistries returns empty registries.
func NewRegistries() map[string]*Registry {
	return map[string]*Registry{methods.ListTools: NewRegistry(), methods.ListPrompts: NewRegistry()}
}

// plain reports whether the names of method's entries stay unchanged: if the user has one server, and
// for tools that are called through the router's tool.
func (l Layout) plain(method string) bool {
	return l.Single || l.Registers[method] == nil || l.Mode == bridgeconfig.Router && method == methods.ListTools
}

// Build joins the servers' lists.
func (l Layout) Build() *Catalog {
	c := &Catalog{Lists: map[string][]Entry{}}
	for _, method := range methods.Lists {
		entries := l.entries(method)
		switch {
		case l.Registers[method] == nil:
			c.Lists[method] = c.unique(method, entries)
		case l.plain(method):
			c.Lists[method] = entries
		default:
			c.Lists[method] = c.named(method, entries, l.Registers[method].assign(l.Naming, featuresOf(entries)))
		}
	}
	c.StatusTool = l.statusTool(c.Lists[methods.ListTools])
	if l.Mode == bridgeconfig.Router {
		c.RouterTool = l.RouterTool(l.Servers, c.Lists[methods.ListTools])
	}
	return c
}

// statusTool returns the name of the bridge's own tool. A server's tool of the name keeps it, also one
// that is not listed yet and whose name may begin with its server's: no prefix begins with an underscore.
func (l Layout) statusTool(tools []Entry) string {
	name := "bridge_status"
	taken := func() bool {
		return slices.ContainsFunc(tools, func(e Entry) bool { return e.Key == name }) ||
			slices.ContainsFunc(l.Servers, func(u *upstream.Server) bool { return l.Naming.Prefixes(u.Config.Name, name) })
	}
	for taken() {
		name = "_" + name
	}
	return name
}

// entries returns the entries of all servers under the servers' own names.
func (l Layout) entries(method string) []Entry {
	entries := []Entry{}
	for _, u := range l.Servers {
		for _, it := range u.Lists.Offered(method) {
			if method == methods.ListTools {
				it.Raw = u.Outputs.Listed(it.Key, it.Raw)
			}
			entries = append(entries, Entry{
				ServerName: u.Config.Name, Original: it.Key,
				Key: it.Key, Raw: listentry.Mend(method, it.Raw), Server: u, Hidden: it.Hidden, FromBridge: it.FromBridge,
			})
		}
	}
	return entries
}

func featuresOf(entries []Entry) []Feature {
	features := make([]Feature, len(entries))
	for i, e := range entries {
		features[i] = e.Feature
	}
	return features
}

// unique keeps only the first server's entry of each URI.
func (c *Catalog) unique(method string, entries []Entry) []Entry {
	seen := map[string]bool{}
	kept := []Entry{}
	for _, e := range entries {
		if seen[e.Key] {
			c.report(method, "", e)
			continue
		}
		seen[e.Key] = true
		kept = append(kept, e)
	}
	return kept
}

// named assigns the entries their names.
func (c *Catalog) named(method string, entries []Entry, namings []Assignment) []Entry {
	kept := []Entry{}
	for i, e := range entries {
		e.Assignment = namings[i]
		e.Key = e.Name
		raw, err := message.WithField(e.Raw, methods.Of(method).List.Key, e.Key)
		if err != nil {
			continue // itemsOf returns only objects
		}
		e.Raw = raw
		if e.collided() {
			c.report(method, e.Name, e)
		}
		kept = append(kept, e)
	}
	return kept
}

// report records a collision. name is empty if clients do not see the entry.
func (c *Catalog) report(method, name string, e Entry) {
	if len(c.Renamed) < maxRenamed {
		c.Renamed = append(c.Renamed, health.NewRenamed(methods.Of(method).List.Kind, name, e.ServerName, e.Server.Granted().Redactor.Redact(e.Original)))
	}
}

// Find returns the entry with the key in the list of method.
func (c *Catalog) Find(method, key string) (Entry, bool) {
	for _, e := range c.Lists[method] {
		if e.Key == key {
			return e, true
		}
	}
	return Entry{}, false
}

// Owner returns the server of a resource: the server that lists it, else the server whose template
// has the longest fixed prefix in common with it.
func (c *Catalog) Owner(uri string) (*upstream.Server, bool) {
	if e, ok := c.Find(methods.ListResources, uri); ok {
		return e.Server, true
	}
	var best *upstream.Server
	longest := -1
	for _, e := range c.Lists[methods.ListTemplates] {
		fixed, _, _ := strings.Cut(e.Key, "{")
		if strings.HasPrefix(uri, fixed) && len(fixed) > longest {
			best, longest = e.Server, len(fixed)
		}
	}
	return best, best != nil
}

// Match is a tool that matches a text.
type Match struct {
	Entry
	Score float64
}

// Search returns at most limit tools that match the text, the best first.
func (c *Catalog) Search(text string, limit int) []Match {
	entries := c.Lists[methods.ListTools]
	c.ranking.Do(func() {
		tools := make([]searchable, len(entries))
		for i, e := range entries {
			tool := ShapeOf(e.Raw)
			tools[i] = searchable{
				Server: e.ServerName, About: e.Server.Config.Description,
				Name: e.Original, Description: tool.Title + " " + tool.Description, Arguments: tool.Arguments(),
			}
		}
		c.index = newToolIndex(tools)
	})
	var found []Match
	for _, m := range c.index.Search(text, len(entries)) {
		if e := entries[m.Tool]; !e.Hidden && len(found) < limit {
			found = append(found, Match{e, m.Score})
		}
	}
	return found
}

// Shape is the part of a tool's description by which clients choose it.
type Shape struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	InputSchema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	} `json:"inputSchema"`
}

// ShapeOf returns the shape of a tool. It is empty if the tool has unexpected types.
func ShapeOf(tool json.RawMessage) Shape {
	var s Shape
	_ = json.Unmarshal(tool, &s) // fields of unexpected types stay empty
	return s
}

// Arguments returns the names of the tool's arguments, sorted.
func (s Shape) Arguments() []string {
	names := make([]string, 0, len(s.InputSchema.Properties))
	for name := range s.InputSchema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// VisibleTo reports whether a client that passed these bridges sees the entry in a list. A bridge
// does not see entries of a third bridge: otherwise two bridges that serve each other would list
// each other's lists for ever.
func (e Entry) VisibleTo(hops string) bool {
	return !e.Hidden && (hops == "" || !e.FromBridge)
}
