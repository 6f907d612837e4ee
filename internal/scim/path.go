// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import "strings"

// maxPath is how long the path of an operation may be, in bytes.
const maxPath = 2048

// path is what an operation of PATCH is about.
type path struct {
	// attribute is in lower case; sub is its sub-attribute, empty for none.
	attribute, sub string
	// filter chooses some values of the attribute; nil chooses all.
	filter *expression
}

// parsePath reads the path of an operation: the name of an attribute of the kind with, if it
// has several values, a filter of them, and a sub-attribute. What follows the name of an
// extension is a part of the attribute of that name.
func (k *kind) parsePath(text string) (path, error) {
	p, ok := k.readPath(text)
	if !ok || !k.fits(p) {
		return path{}, invalid(invalidPath, "The path must be the name of an attribute of a %s, in the form of RFC 7644, section 3.10.", k.name)
	}
	return p, nil
}

func (k *kind) readPath(text string) (p path, ok bool) {
	if len(text) > maxPath {
		return p, false
	}
	if lower := strings.ToLower(text); strings.HasPrefix(lower, "urn:") && !strings.HasPrefix(lower, strings.ToLower(k.schema)+":") {
		p.attribute = lower
		return p, true
	}
	name, filtered, hasFilter := strings.Cut(text, "[")
	if hasFilter {
		filter, rest, closed := strings.CutLast(filtered, "]")
		if p.filter, ok = parseFilter(filter, ""); !ok || !closed {
			return p, false
		}
		name += rest
	}
	if name, ok = attributeName(name, k.schema); !ok {
		return p, false
	}
	p.attribute, p.sub, _ = strings.Cut(name, ".")
	return p, true
}

// fits reports whether a path has the form that the attribute has which it names. The form of
// those that are not stored does not matter.
func (k *kind) fits(p path) bool {
	switch {
	case !k.stored[p.attribute] && !k.fixed[p.attribute]:
		return true
	case p.attribute == attrMembers:
		return p.sub == "" || p.sub == "value"
	}
	return p.filter == nil && (p.sub == "" || p.attribute == "meta")
}

// knows reports whether an attribute is one of a resource of the kind, stored or not.
func (k *kind) knows(attribute string) bool {
	return k.stored[attribute] || k.fixed[attribute] || k.dropped[attribute] || k == users && strings.HasPrefix(attribute, strings.ToLower(enterpriseUser))
}
