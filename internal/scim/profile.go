// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

const (
	// MaxProfile is how long the profile of a user may be, in bytes of JSON. Every ingress has
	// those of all users in memory: 40 MiB with the 20,000 that a directory may have.
	MaxProfile = 2048
	// maxEmails is how many addresses are kept of a user.
	maxEmails = 8
)

const (
	attrName   = "name"
	attrEmails = "emails"
	// partPrimary is the sub-attribute that one address has at most as true.
	partPrimary = "primary"
)

// profileNames are the attributes of a profile by their names in lower case. They come back as
// the directory has sent them, and have no effect. Addresses of other kinds, telephone numbers,
// pictures, roles and passwords are not kept: directories compare names and emails.
var profileNames = map[string]string{
	attrName: "name", attrEmails: "emails", "nickname": "nickName", "profileurl": "profileUrl", "title": "title",
	"usertype": "userType", "preferredlanguage": "preferredLanguage", "locale": "locale", "timezone": "timezone",
}

// profileParts are the sub-attributes of those that have some.
var profileParts = map[string][]string{
	attrName:   {"formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"},
	attrEmails: {"value", "type", partPrimary, "display"},
}

// profile has texts, an object of texts for name, and a list of objects for emails.
type profile struct {
	texts  map[string]string
	name   map[string]any
	emails []map[string]any
}

// describe does an operation on the profile. One whose value has another form, or for which
// there is no room, has no effect.
func (u *User) describe(o operation) {
	p := readProfile(u.Profile)
	switch attribute := o.path.attribute; attribute {
	case attrName:
		p.name = changePart(p.name, o)
	case attrEmails:
		p.changeEmails(o)
	default:
		v := single(o.value)
		if delete(p.texts, attribute); o.op != opRemove && v.Kind == jsondoc.String && shownText(v.Text) != "" {
			p.texts[attribute] = shownText(v.Text)
		}
	}
	if text := p.encode(); len(text) <= MaxProfile {
		u.Profile = text
	}
}

func readProfile(text string) profile {
	p := profile{texts: map[string]string{}}
	var all map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &all) != nil {
		return p // Only describe writes profiles.
	}
	for lower, name := range profileNames {
		var value string
		if raw := all[name]; raw != nil && json.Unmarshal(raw, &value) == nil {
			p.texts[lower] = value
		}
	}
	_ = json.Unmarshal(all[attrName], &p.name)
	_ = json.Unmarshal(all[attrEmails], &p.emails)
	return p
}

func (p *profile) encode() string {
	all := map[string]any{}
	for lower, value := range p.texts {
		all[profileNames[lower]] = value
	}
	if len(p.name) > 0 {
		all[attrName] = p.name
	}
	if len(p.emails) > 0 {
		all[attrEmails] = p.emails
	}
	if len(all) == 0 {
		return ""
	}
	return string(jsondoc.EncodeExact(all))
}

// changeEmails changes all addresses, or those that the path chooses.
func (p *profile) changeEmails(o operation) {
	before := slices.Clone(p.emails)
	switch {
	case o.path.filter != nil || o.path.sub != "":
		p.changeChosen(o)
	case o.op == opAdd:
		p.addEmails(o)
	default:
		p.emails, before = nil, nil
		if o.op == opReplace {
			p.addEmails(o)
		}
	}
	p.onePrimary(before)
	p.emails = slices.DeleteFunc(p.emails, func(part map[string]any) bool { return len(part) == 0 })
}

// onePrimary lets one address be the primary one, which is the one that has become it (RFC 7644,
// section 3.5.2).
func (p *profile) onePrimary(before []map[string]any) {
	isPrimary := func(part map[string]any) bool { return part[partPrimary] == true }
	newest := -1
	for i, part := range p.emails {
		if isPrimary(part) && (i >= len(before) || !isPrimary(before[i])) {
			newest = i
		}
	}
	for i, part := range p.emails {
		if newest >= 0 && i != newest && isPrimary(part) {
			p.emails[i] = maps.Clone(part)
			p.emails[i][partPrimary] = false
		}
	}
}

func (p *profile) changeChosen(o operation) {
	found := false
	for i := range p.emails {
		if o.path.filter.matches(partOf(p.emails[i])) {
			found, p.emails[i] = true, changePart(p.emails[i], o)
		}
	}
	if !found && o.op != opRemove {
		p.addEmail(o)
	}
}

// addEmails adds the addresses of the value.
func (p *profile) addEmails(o operation) {
	for _, item := range itemsOf(o.value) {
		part := changePart(nil, operation{op: opAdd, path: path{attribute: attrEmails}, value: item})
		isThere := slices.ContainsFunc(p.emails, func(known map[string]any) bool { return maps.Equal(known, part) })
		if !isThere && len(part) > 0 && len(p.emails) < maxEmails {
			p.emails = append(p.emails, part)
		}
	}
}

// addEmail adds an address that the path would choose, as Microsoft Entra expects where it
// chooses none. A path that does not say what it would be adds none.
func (p *profile) addEmail(o operation) {
	terms := o.path.filter.terms()
	if len(p.emails) == maxEmails || o.path.filter != nil && len(terms) == 0 {
		return
	}
	part := map[string]any{}
	for _, t := range terms {
		switch name := partName(attrEmails, t.attribute); {
		case name == partPrimary:
			part[name] = strings.EqualFold(t.text, "true")
		case name != "" && !t.isBool:
			part[name] = t.text
		}
	}
	p.emails = append(p.emails, changePart(part, o))
}

// changePart sets or removes one sub-attribute of an object, or all that the value has, which may
// come in a list.
func changePart(part map[string]any, o operation) map[string]any {
	values := []jsondoc.Member{{Name: o.path.sub, Value: single(o.value)}}
	if o.path.sub == "" {
		if o.op == opRemove {
			return nil
		}
		values = nil
		for _, item := range itemsOf(o.value) {
			values = append(values, item.Members...)
		}
	}
	next := map[string]any{}
	maps.Copy(next, part)
	for _, m := range values {
		name := partName(o.path.attribute, m.Name)
		if name == "" {
			continue
		}
		delete(next, name)
		text := shownText(m.Value.Text)
		switch {
		case o.op == opRemove || text == "":
		case m.Value.Kind == jsondoc.Bool || name == partPrimary: // Microsoft Entra sends "True".
			next[name] = strings.EqualFold(text, "true")
		case m.Value.Kind == jsondoc.String:
			next[name] = text
		}
	}
	return next
}

// partName returns the name of a sub-attribute as RFC 7643 writes it, empty for none.
func partName(attribute, name string) string {
	for _, known := range profileParts[attribute] {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// itemsOf returns the values of an attribute with several, which may come as one.
func itemsOf(v jsondoc.Value) []jsondoc.Value {
	if v.Kind == jsondoc.Object {
		return []jsondoc.Value{v}
	}
	return v.Items
}
