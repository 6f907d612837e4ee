// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"cmp"
	"iter"
	"strings"
)

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
type Filter struct{ root *expression }

// The attributes of the enterprise extension, which directories ask for also without its schema.
// No user has them here.
var enterpriseNames = setOf("employeenumber", "costcenter", "organization", "division", "department", "manager")

// UserFilter reads a filter of users. Empty is all of them.
func UserFilter(filter string) (Filter, error) { return users.filter(filter) }

// GroupFilter reads a filter of groups. Empty is all of them.
func GroupFilter(filter string) (Filter, error) { return groups.filter(filter) }

func (k *kind) filter(filter string) (Filter, error) {
	if strings.Trim(filter, " ") == "" {
		return Filter{}, nil
	}
	root, ok := parseFilter(filter, k.schema)
	if !ok {
		return Filter{}, invalid(invalidFilter, "The filter must have the form of RFC 7644, section 3.4.2.2, with eq, ne, co, sw, ew, pr, and, or, not, at most %d bytes, %d comparisons and %d levels.", maxFilter, maxComparisons, maxLevels)
	}
	for e := range root.all() {
		name, _, _ := strings.Cut(e.attribute, ".")
		if name != "" && !k.knows(name) && (k != users || !enterpriseNames[name]) {
			return Filter{}, invalid(invalidFilter, "The filter names an attribute that a %s does not have.", k.name)
		}
	}
	return Filter{root}, nil
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

// UserName returns the userName that all users have that match, in any case, if the filter
// names one.
func (f Filter) UserName() (string, bool) { return f.value(attrUserName) }

func (f Filter) value(attribute string) (string, bool) {
	for _, t := range f.root.terms() {
		if t.attribute == attribute {
			return t.text, true
		}
	}
	return "", false
}

// User reports whether a user matches.
func (f Filter) User(u *User) bool {
	return f.root.matches(resource{
		fields: func(attribute string) iter.Seq[field] { return u.fields(attribute) },
		items: func(attribute string) iter.Seq[resource] {
			return func(yield func(resource) bool) {
				if attribute != attrEmails {
					return
				}
				for _, part := range readProfile(u.Profile).emails {
					if !yield(partOf(part)) {
						return
					}
				}
			}
		},
	})
}

// fields returns the values of an attribute of a user.
func (u *User) fields(attribute string) iter.Seq[field] {
	switch attribute {
	case attrID:
		return oneField(field{text: u.ID, exact: true})
	case attrExternalID:
		return oneField(field{text: u.ExternalID, exact: true})
	case attrUserName:
		return oneField(field{text: u.UserName})
	case attrDisplayName:
		return oneField(field{text: u.DisplayName})
	case attrActive:
		text := "false"
		if u.Active {
			text = "true"
		}
		return oneField(field{text: text, isBool: true})
	}
	return readProfile(u.Profile).fields(attribute)
}

// fields returns the values of an attribute of a profile.
func (p profile) fields(attribute string) iter.Seq[field] {
	name, sub, _ := strings.Cut(attribute, ".")
	switch {
	case name == attrEmails:
		return func(yield func(field) bool) {
			for _, part := range p.emails {
				for f := range partOf(part).fields(cmp.Or(sub, "value")) {
					if !yield(f) {
						return
					}
				}
			}
		}
	case name == attrName && sub == "":
		return oneField(field{text: strings.Repeat("-", len(p.name))}) // Present, if anything is.
	case name == attrName:
		return partOf(p.name).fields(sub)
	}
	return oneField(field{text: p.texts[attribute]})
}

// partOf returns a part of a profile as a resource.
func partOf(part map[string]any) resource {
	return resource{fields: func(attribute string) iter.Seq[field] {
		for name, value := range part {
			if !strings.EqualFold(name, attribute) {
				continue
			}
			switch value := value.(type) {
			case string:
				return oneField(field{text: value})
			case bool:
				return oneField(field{text: map[bool]string{true: "true", false: "false"}[value], isBool: true})
			}
		}
		return oneField(field{})
	}}
}

// Group reports whether a group matches.
func (f Filter) Group(g *Group) bool {
	return f.root.matches(resource{fields: g.fields, items: func(attribute string) iter.Seq[resource] {
		return func(yield func(resource) bool) {
			if attribute != attrMembers {
				return
			}
			for _, id := range g.Members {
				item := func(sub string) iter.Seq[field] {
					if sub != "value" {
						return oneField(field{})
					}
					return oneField(field{text: id, exact: true})
				}
				if !yield(resource{fields: item}) {
					return
				}
			}
		}
	}})
}

// fields returns the values of an attribute of a group.
func (g *Group) fields(attribute string) iter.Seq[field] {
	switch attribute {
	case attrID:
		return oneField(field{text: g.ID, exact: true})
	case attrExternalID:
		return oneField(field{text: g.ExternalID, exact: true})
	case attrDisplayName:
		return oneField(field{text: g.DisplayName})
	case attrMembers, attrMembers + ".value":
		return func(yield func(field) bool) {
			for _, id := range g.Members {
				if !yield(field{text: id, exact: true}) {
					return
				}
			}
		}
	}
	return oneField(field{})
}

// SameName reports whether two names are the same: RFC 7643 compares userName and
// displayName without case.
func SameName(a, b string) bool { return strings.EqualFold(a, b) }
