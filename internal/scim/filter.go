// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	// maxFilter is how long a filter may be, in bytes, and maxTerms how many comparisons it
	// may have.
	maxFilter = 2048
	maxTerms  = 8
)

// term is a comparison of an attribute with a text or a boolean.
type term struct {
	// attribute is in lower case, without a schema, and may have a sub-attribute after a dot.
	attribute string
	text      string
	isBool    bool
}

// parseTerms reads comparisons by eq that are joined by and. schema may stand before the
// names of attributes.
func parseTerms(filter, schema string) ([]term, bool) {
	if len(filter) > maxFilter {
		return nil, false
	}
	var terms []term
	for rest := filter; len(terms) < maxTerms; {
		var t term
		var ok bool
		if t, rest, ok = parseTerm(rest, schema); !ok {
			return nil, false
		}
		terms = append(terms, t)
		if strings.Trim(rest, " ") == "" {
			return terms, true
		}
		var operator string
		if operator, rest = word(rest); !strings.EqualFold(operator, "and") || rest == "" {
			return nil, false
		}
	}
	return nil, false
}

// parseTerm reads one comparison, and returns what stands after it.
func parseTerm(filter, schema string) (t term, rest string, ok bool) {
	attribute, rest := word(filter)
	operator, rest := word(rest)
	if !strings.EqualFold(operator, "eq") {
		return t, "", false
	}
	if t.attribute, ok = attributeName(attribute, schema); !ok {
		return t, "", false
	}
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, `"`) {
		end := endOfText(rest)
		if end < 0 || json.Unmarshal([]byte(rest[:end]), &t.text) != nil {
			return t, "", false
		}
		rest = rest[end:]
		return t, rest, rest == "" || rest[0] == ' '
	}
	value, rest := word(rest)
	t.text, t.isBool = strings.ToLower(value), true
	return t, rest, t.text == "true" || t.text == "false"
}

// word returns the text up to a space, and what stands from there on.
func word(s string) (first, rest string) {
	s = strings.TrimLeft(s, " ")
	if end := strings.IndexByte(s, ' '); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// endOfText returns where the JSON text ends with which s begins, or -1.
func endOfText(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// attributeName returns the name of an attribute in lower case, without the schema that may
// stand before it.
func attributeName(s, schema string) (string, bool) {
	s = strings.ToLower(s)
	if schema != "" {
		s = strings.TrimPrefix(s, strings.ToLower(schema)+":")
	}
	for part := range strings.SplitSeq(s, ".") {
		if !isName(part) {
			return "", false
		}
	}
	return s, strings.Count(s, ".") <= 1
}

// isName reports whether a text in lower case has the form of an attribute's name.
func isName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '-' && r != '_' && r != '$' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// Filter says which resources are asked for. The zero value is all.
type Filter struct{ terms []term }

// filterable are the attributes that a filter may have: those of texts, and active.
var (
	filterableUser  = []string{attrID, attrExternalID, attrUserName, attrDisplayName, attrActive}
	filterableGroup = []string{attrID, attrExternalID, attrDisplayName, attrMembers}
)

// UserFilter reads a filter of users. Empty is all of them.
func UserFilter(filter string) (Filter, error) { return parseFilter(filter, coreUser, filterableUser) }

// GroupFilter reads a filter of groups. Empty is all of them.
func GroupFilter(filter string) (Filter, error) {
	return parseFilter(filter, coreGroup, filterableGroup)
}

func parseFilter(filter, schema string, known []string) (Filter, error) {
	if strings.Trim(filter, " ") == "" {
		return Filter{}, nil
	}
	terms, ok := parseTerms(filter, schema)
	if ok {
		for i := range terms {
			if terms[i].attribute == attrMembers+".value" {
				terms[i].attribute = attrMembers
			}
			t := &terms[i]
			ok = ok && slices.Contains(known, t.attribute) && t.isBool == (t.attribute == attrActive)
		}
	}
	if !ok {
		return Filter{}, invalid(invalidFilter, "A filter compares attributes by eq, joined by and; the attributes are %s.", strings.Join(names(known), ", "))
	}
	return Filter{terms}, nil
}

// names returns attributes as RFC 7643 writes them.
func names(attributes []string) []string {
	var written []string
	for _, a := range attributes {
		switch a {
		case attrExternalID:
			a = "externalId"
		case attrUserName:
			a = "userName"
		case attrDisplayName:
			a = "displayName"
		}
		written = append(written, a)
	}
	return written
}

// ID returns the id that all resources have that match, if the filter names one.
func (f Filter) ID() (string, bool) { return f.value(attrID) }

// ExternalID returns the externalId that all resources have that match, if the filter names
// one.
func (f Filter) ExternalID() (string, bool) { return f.value(attrExternalID) }

func (f Filter) value(attribute string) (string, bool) {
	for _, t := range f.terms {
		if t.attribute == attribute {
			return t.text, true
		}
	}
	return "", false
}

// User reports whether a user matches.
func (f Filter) User(u *User) bool {
	for _, t := range f.terms {
		var matches bool
		switch t.attribute {
		case attrID:
			matches = t.text == u.ID
		case attrExternalID:
			matches = t.text == u.ExternalID
		case attrUserName:
			matches = SameName(t.text, u.UserName)
		case attrDisplayName:
			matches = SameName(t.text, u.DisplayName)
		case attrActive:
			matches = (t.text == "true") == u.Active
		}
		if !matches {
			return false
		}
	}
	return true
}

// Group reports whether a group matches.
func (f Filter) Group(g *Group) bool {
	for _, t := range f.terms {
		var matches bool
		switch t.attribute {
		case attrID:
			matches = t.text == g.ID
		case attrExternalID:
			matches = t.text == g.ExternalID
		case attrDisplayName:
			matches = SameName(t.text, g.DisplayName)
		case attrMembers:
			_, matches = slices.BinarySearch(g.Members, t.text)
		}
		if !matches {
			return false
		}
	}
	return true
}

// SameName reports whether two names are the same: RFC 7643 compares userName and
// displayName without case.
func SameName(a, b string) bool { return strings.EqualFold(a, b) }
