// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// parseObject reads a body.
func parseObject(body []byte) (jsondoc.Value, error) {
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return doc, invalid(invalidSyntax, "The body must be a JSON object in which each name stands once.")
	}
	return doc, nil
}

// members returns the members of an object by their names in lower case. Two that differ in
// case alone are the same attribute, which another reader could take the other way.
func members(v jsondoc.Value) (map[string]jsondoc.Value, error) {
	found := make(map[string]jsondoc.Value, len(v.Members))
	for _, m := range v.Members {
		name := strings.ToLower(m.Name)
		if _, twice := found[name]; twice {
			return nil, errTwice
		}
		found[name] = m.Value
	}
	return found, nil
}

// attribute is a member of a resource's body.
type attribute struct {
	// name is in lower case, without the schema that may stand before it.
	name  string
	value jsondoc.Value
}

// attributes returns the attributes of a body that are stored, and its id, in the order of
// the body. A body may have anything else too.
func (k *kind) attributes(doc jsondoc.Value) (found []attribute, err error) {
	for _, m := range k.membersIn(doc) {
		name, ok := attributeName(m.Name, k.schema)
		if !ok || !k.stored[name] && name != attrID && (k != users || profileNames[name] == "") {
			continue
		}
		if slices.ContainsFunc(found, func(a attribute) bool { return a.name == name }) {
			err = errTwice
			continue
		}
		found = append(found, attribute{name, m.Value})
	}
	return found, err
}

// membersIn returns the members of a resource's body. Some directories put them into an object with
// the name of the schema, as RFC 7643 has it for extensions alone.
func (k *kind) membersIn(doc jsondoc.Value) []jsondoc.Member {
	var all []jsondoc.Member
	for _, m := range doc.Members {
		if strings.EqualFold(m.Name, k.schema) {
			all = append(all, m.Value.Members...)
		} else {
			all = append(all, m)
		}
	}
	return all
}

// single returns the value itself, or that of {"value": …} where a directory sends a list of
// one such object.
func single(v jsondoc.Value) jsondoc.Value {
	if v.Kind != jsondoc.Array || len(v.Items) != 1 {
		return v
	}
	if inner, ok := v.Items[0].Get("value"); ok {
		return inner
	}
	return v
}

// textOf reads the value of an attribute that is a text; null counts as missing.
func textOf(v jsondoc.Value, attribute string, most int) (string, error) {
	v = single(v)
	switch {
	case v.Kind == jsondoc.Null, v.Kind == jsondoc.String && v.Text == "":
		return "", nil
	case v.Kind != jsondoc.String || !isText(v.Text, most):
		return "", invalid(invalidValue, "%s must be a text of 1 to %d printable characters, without spaces around it.", attribute, most)
	}
	return v.Text, nil
}

// nameOf reads a name that is shown to people and decides nothing. Spaces around it and
// characters that cannot be seen are left out, and it is cut to maxText characters.
func nameOf(v jsondoc.Value, attribute string) (string, error) {
	v = single(v)
	if v.Kind != jsondoc.Null && v.Kind != jsondoc.String {
		return "", invalid(invalidValue, "%s must be a text.", attribute)
	}
	return shownText(v.Text), nil
}

// shownText returns a text as nameOf reads it.
func shownText(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	runes := []rune(strings.TrimSpace(s))
	return strings.TrimSpace(string(runes[:min(len(runes), maxText)]))
}

// boolOf reads a boolean. Microsoft Entra sends it as the text "False".
func boolOf(v jsondoc.Value, attribute string) (bool, error) {
	v = single(v)
	text := strings.ToLower(v.Text)
	if v.Kind != jsondoc.Bool && v.Kind != jsondoc.String || text != "true" && text != "false" {
		return false, invalid(invalidValue, "%s must be true or false.", attribute)
	}
	return text == "true", nil
}

// IsUserID reports whether a text has the form of the id of a user.
type IsUserID func(string) bool

// membersOf reads the ids of members, which come as a list of {"value": …} or of texts, or as
// one of them. It leaves out groups and those that are no user's.
func membersOf(v jsondoc.Value, isID IsUserID, left LeftOut) ([]string, error) {
	items := v.Items
	switch v.Kind {
	case jsondoc.Null:
		return nil, nil
	case jsondoc.Object, jsondoc.String:
		items = []jsondoc.Value{v}
	case jsondoc.Array:
	default:
		return nil, errMembers
	}
	if len(items) > MaxMembers {
		return nil, errTooManyMembers
	}
	ids := make([]string, 0, len(items))
	for _, item := range items {
		id, isGroup, err := memberOf(item)
		switch {
		case err != nil:
			return nil, err
		case isGroup:
			left.add(nestedGroup)
		case !isID(id):
			left.add(unknownMember)
		default:
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// memberOf returns the id of a member, by its value or else the end of its $ref.
func memberOf(item jsondoc.Value) (id string, isGroup bool, err error) {
	if item.Kind == jsondoc.String && item.Text != "" {
		return item.Text, false, nil
	}
	attributes, err := members(item)
	if err != nil {
		return "", false, err
	}
	value, ref := attributes["value"], attributes["$ref"]
	within, last := "", ref.Text
	if i := strings.LastIndexByte(ref.Text, '/'); i >= 0 {
		within, last = ref.Text[:i], ref.Text[i+1:]
	}
	if id = value.Text; value.Kind == jsondoc.Null {
		id = last
	}
	if id == "" {
		return "", false, errMembers
	}
	return id, strings.EqualFold(attributes["type"].Text, groups.name) || strings.HasSuffix(within, "/"+groups.plural), nil
}

var (
	errTwice          = httpapi.New(badRequest, invalidSyntax, "An attribute stands twice in one object.")
	errMembers        = httpapi.New(badRequest, invalidValue, "members must be a list of objects, each with the id of a user as its value, or its URL as $ref.")
	errTooManyMembers = httpapi.New(badRequest, invalidValue, "A group has at most 10000 members.")
)

// sorted returns ids in order, each once.
func sorted(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
