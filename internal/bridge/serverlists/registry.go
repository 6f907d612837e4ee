// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

const (
	// hashed is the length of the hash in a name that is too long.
	hashed = len("_01234567")
	// maxRemembered limits the remembered names of one kind that no server lists any more. It is
	// far more than the servers of one person have.
	maxRemembered = 10_000
)

// Feature is a tool or prompt of a server, by the server's own name.
type Feature struct{ ServerName, Original string }

// Assignment is the client-side name of a feature.
type Assignment struct {
	Feature
	// Name is the name for clients. base is the name before a number is added because it is taken.
	// plain is the name if nothing collides.
	Name, base, plain string
	// contested says that another server has, or had, a feature of the same name.
	contested bool
}

// collided reports whether a collision changed the name.
func (n Assignment) collided() bool { return n.Name != n.plain }

// Registry remembers the names under which clients know the features of one kind. As long as a
// server is configured, a name that clients may have seen for one of its features never means
// another feature, even if servers disconnect or return in another order. Before clients have seen
// any names, the names depend only on the configuration and the servers' lists, so that a restart
// renames nothing.
//
// With bridgeconfig.PrefixAuto, a name that several servers have gets a prefix at all of them. It
// keeps the prefix when only one server still has it: without the prefix, a client that knew the
// name from before would call the wrong server. The server that Naming.Unprefixed names has no prefix
// at all.
type Registry struct {
	owners    map[string]Feature
	names     map[Feature]Assignment
	contested map[string]bool // names without prefix, as sanitize returns them
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{owners: map[string]Feature{}, names: map[Feature]Assignment{}, contested: map[string]bool{}}
}

// Naming is how features get their names.
type Naming struct {
	Prefix  bridgeconfig.Prefix
	Longest int // the longest name, in characters
	// Unprefixed is the server whose names stay as they are, empty for none.
	Unprefixed string
}

// assign returns the names of the features, which are in the order of the configuration.
func (r *Registry) assign(rule Naming, features []Feature) []Assignment {
	contested := r.contest(rule.Prefix, features)
	namings := make([]Assignment, len(features))
	taken := make(map[string]bool, len(features))
	for i, f := range features {
		n := rule.describe(f)
		if n.contested = f.ServerName != rule.Unprefixed && contested[sanitize(f.Original)]; n.contested {
			n.base = rule.prefixed(f)
		}
		if known, ok := r.names[f]; ok && known.base == n.base && !taken[known.Name] {
			n.Name = known.Name
			taken[n.Name] = true
		}
		namings[i] = n
	}
	last := map[string]int{} // the last number added to a base
	for i, n := range namings {
		if n.Name != "" {
			continue
		}
		name := n.base
		for taken[name] || r.another(name, n.Feature) {
			last[n.base] = max(last[n.base]+1, 2)
			name = rule.numbered(n.base, last[n.base])
		}
		namings[i].Name = name
		taken[name] = true
	}
	return namings
}

// describe returns the name of f if nothing collides.
func (n Naming) describe(f Feature) Assignment {
	if f.ServerName == n.Unprefixed {
		return Assignment{Feature: f, base: f.Original, plain: f.Original}
	}
	plain := n.fit(sanitize(f.Original), f.Original)
	if n.Prefix != bridgeconfig.PrefixAuto && n.Prefix != bridgeconfig.PrefixNever {
		plain = n.prefixed(f)
	}
	return Assignment{Feature: f, base: plain, plain: plain}
}

// another reports whether clients know the name as that of another feature.
func (r *Registry) another(name string, f Feature) bool {
	owner, known := r.owners[name]
	return known && owner != f
}

// contest returns the names that several servers have or had.
func (r *Registry) contest(rule bridgeconfig.Prefix, features []Feature) map[string]bool {
	if rule != bridgeconfig.PrefixAuto {
		return nil
	}
	contested := map[string]bool{}
	first := map[string]string{}
	for _, f := range features {
		name := sanitize(f.Original)
		server, found := first[name]
		if !found {
			first[name] = f.ServerName
		}
		contested[name] = contested[name] || r.contested[name] || found && server != f.ServerName
	}
	return contested
}

// MarkSeen records that clients may have seen the name.
func (r *Registry) MarkSeen(n Assignment) {
	r.owners[n.Name] = n.Feature
	r.names[n.Feature] = n
	if n.contested {
		r.contested[sanitize(n.Original)] = true
	}
}

// Seen reports whether clients may know the name.
func (r *Registry) Seen(n Assignment) bool { return r.owners[n.Name] == n.Feature }

// Crowded reports whether the registry remembers more names than it should.
func (r *Registry) Crowded() bool { return len(r.owners) > maxRemembered }

// Release forgets the names of servers for which gone returns true: a server that is removed from
// the configuration gives up its names.
func (r *Registry) Release(gone func(server string) bool) {
	for name, f := range r.owners {
		if gone(f.ServerName) {
			delete(r.owners, name)
		}
	}
	for f := range r.names {
		if gone(f.ServerName) {
			delete(r.names, f)
		}
	}
	clear(r.contested)
}

// prefixed returns <server>_<feature>. Two features can get the same name, because a server's name
// may contain an underscore, and because sanitize maps different characters to the same one.
func (n Naming) prefixed(f Feature) string {
	return n.fit(sanitize(f.ServerName)+"_"+sanitize(f.Original), f.ServerName+"\x00"+f.Original)
}

// MayName reports whether a name may be that of a feature of the server, where all names have
// prefixes but those of one server.
func (n Naming) MayName(server, name string) bool {
	return server == n.Unprefixed || n.Prefixes(server, name)
}

// Prefixes reports whether a name may be that of a feature of the server, with the server's name as
// prefix.
func (n Naming) Prefixes(server, name string) bool {
	prefix := sanitize(server) + "_"
	return strings.HasPrefix(name, prefix[:min(len(prefix), n.Longest-hashed)])
}

// fit shortens a name that is too long. A hash of its feature distinguishes it from names with the
// same beginning. The hash need not be secure, since equal names get a number.
func (n Naming) fit(name, of string) string {
	if len(name) <= n.Longest {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(of)) // never fails
	return name[:n.Longest-hashed] + fmt.Sprintf("_%08x", h.Sum32())
}

// numbered returns the base with a number appended.
func (n Naming) numbered(base string, i int) string {
	suffix := "_" + strconv.Itoa(i)
	return base[:min(len(base), n.Longest-len(suffix))] + suffix
}

// sanitize replaces every character except letters, digits, hyphens and underscores, because model
// providers accept no others in names.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}
