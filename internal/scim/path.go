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
	// terms choose some values of the attribute; nil chooses all.
	terms []term
}

// parsePath reads the path of an operation: the name of an attribute of the kind with, if it
// has several values, a filter of them, and a sub-attribute. Those of the enterprise
// extension are the attribute of that name.
func (k *kind) parsePath(text string) (path, error) {
	p, ok := k.readPath(text)
	if !ok || !k.knows(p) {
		return path{}, invalid(invalidPath, "The path is not one of an attribute of a %s.", k.name)
	}
	return p, nil
}

func (k *kind) readPath(text string) (p path, ok bool) {
	if len(text) > maxPath {
		return p, false
	}
	if strings.HasPrefix(strings.ToLower(text), strings.ToLower(enterpriseUser)) {
		rest := text[len(enterpriseUser):]
		p.attribute = strings.ToLower(enterpriseUser)
		if rest == "" {
			return p, true
		}
		rest, found := strings.CutPrefix(rest, ":")
		p.sub, ok = attributeName(rest, "")
		return p, ok && found
	}
	name, filtered, hasFilter := strings.Cut(text, "[")
	if hasFilter {
		filter, rest, closed := strings.CutLast(filtered, "]")
		if p.terms, ok = parseTerms(filter, ""); !ok || !closed {
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

// knows reports whether a resource of the kind can have what the path names.
func (k *kind) knows(p path) bool {
	switch {
	case p.attribute == attrMembers:
		return k.stored[attrMembers] && (p.sub == "" || p.sub == "value")
	case k.stored[p.attribute], k.fixed[p.attribute]:
		return p.terms == nil && (p.sub == "" || p.attribute == "meta")
	case p.attribute == strings.ToLower(enterpriseUser):
		return k == users
	}
	return k.dropped[p.attribute]
}
