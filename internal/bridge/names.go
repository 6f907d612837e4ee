// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

const (
	// maxName is the length of a name that the providers of models accept.
	maxName = 64
	// maxRemembered bounds the names of one kind that are kept in mind though no
	// server lists them any more. It is far more than a person's servers have.
	maxRemembered = 10_000
)

// feature is a tool or prompt of a server, by the server's own name.
type feature struct{ server, original string }

// naming is the name under which clients see a feature.
type naming struct {
	feature
	// name is what clients call, base what it would be without regard to names
	// that are taken, and plain what it would be if nothing collided.
	name, base, plain string
	// contested says that another server has, or had, a feature of that name.
	contested bool
}

// collided reports whether the name is another one because of a collision.
func (n naming) collided() bool { return n.name != n.plain }

// register remembers under which names clients came to know the features of
// one kind. As long as a server is configured, no name that clients may have
// seen for one of its features comes to stand for another one, whoever is away
// and in whatever order servers come back. Before clients have seen names, these
// follow from the configuration and the servers' lists alone, so that a restart
// renames nothing.
//
// With config.PrefixAuto a name that several servers have is prefixed for all of
// them, and stays so when only one of them still has it: were it given to that
// one without a prefix, a client that knew it from before would call another
// server than it means.
type register struct {
	owners    map[string]feature
	names     map[feature]naming
	contested map[string]bool // names without prefix, as sanitize returns them
}

func newRegister() *register {
	return &register{owners: map[string]feature{}, names: map[feature]naming{}, contested: map[string]bool{}}
}

// assign returns the names of the features, which stand in the order of
// configuration.
func (r *register) assign(rule config.Prefix, features []feature) []naming {
	contested := r.contest(rule, features)
	namings := make([]naming, len(features))
	taken := make(map[string]bool, len(features))
	for i, f := range features {
		n := describeName(rule, f)
		if n.contested = contested[sanitize(f.original)]; n.contested {
			n.base = prefixed(f)
		}
		if known, ok := r.names[f]; ok && known.base == n.base && !taken[known.name] {
			n.name = known.name
			taken[n.name] = true
		}
		namings[i] = n
	}
	last := map[string]int{} // the last number behind a base
	for i, n := range namings {
		if n.name != "" {
			continue
		}
		name := n.base
		for taken[name] || r.another(name, n.feature) {
			last[n.base] = max(last[n.base]+1, 2)
			name = numbered(n.base, last[n.base])
		}
		namings[i].name = name
		taken[name] = true
	}
	return namings
}

// describeName returns how f is named by the rule where nothing collides.
func describeName(rule config.Prefix, f feature) naming {
	plain := fit(sanitize(f.original), f.original)
	if rule != config.PrefixAuto && rule != config.PrefixNever {
		plain = prefixed(f)
	}
	return naming{feature: f, base: plain, plain: plain}
}

// another reports whether clients know the name as that of another feature.
func (r *register) another(name string, f feature) bool {
	owner, known := r.owners[name]
	return known && owner != f
}

// contest returns the names that more than one server has, now or before.
func (r *register) contest(rule config.Prefix, features []feature) map[string]bool {
	if rule != config.PrefixAuto {
		return nil
	}
	contested := map[string]bool{}
	first := map[string]string{}
	for _, f := range features {
		name := sanitize(f.original)
		server, found := first[name]
		if !found {
			first[name] = f.server
		}
		contested[name] = contested[name] || r.contested[name] || found && server != f.server
	}
	return contested
}

// show notes that clients may have seen the name.
func (r *register) show(n naming) {
	r.owners[n.name] = n.feature
	r.names[n.feature] = n
	if n.contested {
		r.contested[sanitize(n.original)] = true
	}
}

// crowded reports whether more is remembered than should be.
func (r *register) crowded() bool { return len(r.owners) > maxRemembered }

// release forgets the names of servers for which gone returns true: whoever
// takes a server out of the configuration gives up its names.
func (r *register) release(gone func(server string) bool) {
	for name, f := range r.owners {
		if gone(f.server) {
			delete(r.owners, name)
		}
	}
	for f := range r.names {
		if gone(f.server) {
			delete(r.names, f)
		}
	}
	clear(r.contested)
}

// prefixed returns <server>_<feature>. That it may be taken is possible because
// a server's name may itself hold an underscore, and because different
// characters become the same one.
func prefixed(f feature) string {
	return fit(sanitize(f.server)+"_"+sanitize(f.original), f.server+"\x00"+f.original)
}

// fit shortens a name that is too long. A hash of what it stands for tells it
// from others with the same beginning; it need not withstand anybody, since
// equal names are told apart by a number.
func fit(name, of string) string {
	if len(name) <= maxName {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(of)) // never fails
	suffix := fmt.Sprintf("_%08x", h.Sum32())
	return name[:maxName-len(suffix)] + suffix
}

// numbered returns the base with a number behind it, no longer than maxName.
func numbered(base string, i int) string {
	suffix := "_" + strconv.Itoa(i)
	return base[:min(len(base), maxName-len(suffix))] + suffix
}

// sanitize replaces whatever is not a letter, a digit, a hyphen or an
// underscore: models call tools by name, and their providers accept no more.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}
