// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
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
	attrEmails: {"value", "type", "primary", "display"},
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
		if delete(p.texts, attribute); o.op != opRemove && o.value.Kind == jsondoc.String && shownText(o.value.Text) != "" {
			p.texts[attribute] = shownText(o.value.Text)
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
	if o.path.filter == nil && o.path.sub == "" {
		p.replaceEmails(o)
		return
	}
	found := false
	for i := range p.emails {
		if o.path.filter.matches(partOf(p.emails[i])) {
			found, p.emails[i] = true, changePart(p.emails[i], o)
		}
	}
	if !found && o.op != opRemove {
		p.addEmail(o)
	}
	p.emails = slices.DeleteFunc(p.emails, func(part map[string]any) bool { return len(part) == 0 })
}

// replaceEmails removes all addresses unless some are added, and adds those of the value.
func (p *profile) replaceEmails(o operation) {
	if o.op != opAdd {
		p.emails = nil
	}
	if o.op == opRemove {
		return
	}
	for _, item := range itemsOf(o.value) {
		part := changePart(nil, operation{op: opAdd, path: path{attribute: attrEmails}, value: item})
		if len(part) > 0 && len(p.emails) < maxEmails {
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
		if name := partName(attrEmails, t.attribute); name != "" && !t.isBool {
			part[name] = t.text
		}
	}
	p.emails = append(p.emails, changePart(part, o))
}

// changePart sets or removes one sub-attribute of an object, or all that the value has.
func changePart(part map[string]any, o operation) map[string]any {
	values := []jsondoc.Member{{Name: o.path.sub, Value: o.value}}
	if o.path.sub == "" {
		if values = o.value.Members; o.op == opRemove {
			return nil
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
		case m.Value.Kind == jsondoc.Bool || name == "primary": // Microsoft Entra sends "True".
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
