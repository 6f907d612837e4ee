// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"maps"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// maxOperations is how many operations a PATCH may have: one for each member of the largest
// group.
const maxOperations = MaxMembers

const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// operation is one of a PATCH, with a path.
type operation struct {
	op   string
	path path
	// value is that of the operation, which remove may have too.
	value    jsondoc.Value
	hasValue bool
	// err is why the operation cannot be done.
	err error
}

// operations reads the operations of a body, also those that cannot be done. One whose value
// is an object, and that has no path, is as many as the object has members.
func (k *kind) operations(body []byte) ([]operation, error) {
	doc, err := parseObject(body)
	if err != nil {
		return nil, err
	}
	attributes, err := members(doc)
	if err != nil {
		return nil, err
	}
	list := attributes["operations"]
	// Microsoft Entra's validator sends an empty list where it has nothing to change.
	if list.Kind != jsondoc.Array || len(list.Items) > maxOperations {
		return nil, invalid(invalidSyntax, "Operations must be a list of at most %d operations.", maxOperations)
	}
	var all []operation
	for _, item := range list.Items {
		read, err := k.operation(item)
		if err != nil {
			read = []operation{{err: err}}
		}
		all = append(all, read...)
	}
	return all, nil
}

func (k *kind) operation(item jsondoc.Value) ([]operation, error) {
	attributes, err := members(item)
	if err != nil {
		return nil, err
	}
	o := operation{op: strings.ToLower(attributes["op"].Text)}
	if !slices.Contains([]string{opAdd, opReplace, opRemove}, o.op) {
		return nil, invalid(invalidSyntax, "op must be add, replace or remove.")
	}
	o.value, o.hasValue = attributes["value"]
	// The schema alone is the resource, as no path is.
	if at := attributes["path"]; at.Kind != jsondoc.Null && at.Text != "" && !strings.EqualFold(at.Text, k.schema) {
		if at.Kind != jsondoc.String {
			return nil, invalid(invalidPath, "The path must be a text.")
		}
		if o.path, err = k.parsePath(at.Text); err != nil {
			return nil, err
		}
		if o.op != opRemove && !o.hasValue {
			return nil, invalid(invalidValue, "The operation %s needs a value.", o.op)
		}
		return []operation{o}, nil
	}
	if o.op == opRemove {
		return nil, invalid(noTarget, "The operation remove needs a path.")
	}
	return k.spread(o)
}

// spread returns one operation for each member of the value.
func (k *kind) spread(o operation) ([]operation, error) {
	if o.value.Kind != jsondoc.Object {
		return nil, invalid(invalidValue, "Without a path, the value must be an object.")
	}
	var all []operation
	seen := map[string]bool{}
	for _, m := range k.membersIn(o.value) {
		one := operation{op: o.op, value: m.Value, hasValue: true}
		if one.path, one.err = k.parsePath(m.Name); seen[strings.ToLower(m.Name)] {
			one.err = errTwice
		}
		seen[strings.ToLower(m.Name)] = true
		all = append(all, one)
	}
	return all, nil
}

// PatchUser returns a user as a PATCH changes them, and what of it has no effect.
func PatchUser(u User, body []byte) (User, LeftOut, error) {
	all, err := users.operations(body)
	if err != nil {
		return User{}, nil, err
	}
	c := changedUser{User: u, left: LeftOut{}}
	for _, o := range all {
		if c.note(c.apply(o)); o.err == nil && !users.knows(o.path.attribute) {
			c.left.add(unknownAttribute)
		}
	}
	return c.result(u)
}

func (c *changedUser) apply(o operation) error {
	u, attribute := &c.User, o.path.attribute
	switch {
	case o.err != nil:
		return o.err
	case attribute == attrID && o.op != opRemove:
		return isSame(u.ID, o.value)
	case users.fixed[attribute]:
		return fixed(o)
	case profileNames[attribute] != "":
		u.describe(o)
		return nil
	case !users.stored[attribute]:
		return nil // Accepted, and not stored.
	case o.op != opRemove:
		return c.set(attribute, o.value)
	case attribute == attrDisplayName:
		u.DisplayName = ""
		return nil
	}
	return invalid(mutability, "%s cannot be removed.", names([]string{attribute})[0])
}

// fixed refuses changes of what the installation sets. schemas and meta come back from
// directories that send the whole resource.
func fixed(o operation) error {
	if o.op != opRemove && (o.path.attribute == "schemas" || o.path.attribute == "meta") {
		return nil
	}
	return invalid(mutability, "%s is set by the installation.", o.path.attribute)
}

// PatchGroup returns a group as a PATCH changes it, all of it or none if there is an error,
// and what of it has no effect.
func PatchGroup(g Group, body []byte, isID IsUserID) (Group, LeftOut, error) {
	all, err := groups.operations(body)
	if err != nil {
		return Group{}, nil, err
	}
	p := patchedGroup{Group: g, members: setOf(g.Members...), isID: isID, left: LeftOut{}}
	for _, o := range all {
		if err := p.apply(o); err != nil {
			return Group{}, nil, err
		}
		if len(p.members) > MaxMembers {
			return Group{}, nil, errTooManyMembers
		}
	}
	p.Members = slices.Sorted(maps.Keys(p.members))
	return p.Group, p.left, p.validate()
}

// patchedGroup is a group that is being changed.
type patchedGroup struct {
	Group

	members map[string]bool
	isID    IsUserID
	left    LeftOut
}

func (p *patchedGroup) apply(o operation) error {
	switch attribute := o.path.attribute; {
	case o.err != nil:
		return o.err
	case !groups.knows(attribute):
		p.left.add(unknownAttribute)
		return nil
	case attribute == attrMembers && o.op == opRemove:
		return p.remove(o)
	case attribute == attrMembers:
		return p.add(o)
	case attribute == attrID && o.op != opRemove:
		return isSame(p.ID, o.value)
	case groups.fixed[attribute]:
		return fixed(o)
	case o.op != opRemove:
		return p.set(attribute, o.value)
	default:
		return invalid(mutability, "%s cannot be removed.", names([]string{attribute})[0])
	}
}

// add adds members, or replaces all of them.
func (p *patchedGroup) add(o operation) error {
	if o.path.filter != nil || o.path.sub != "" {
		return invalid(invalidPath, "Members are added and replaced by the path members.")
	}
	ids, err := membersOf(o.value, p.isID, p.left)
	if err != nil {
		return err
	}
	if o.op == opReplace {
		p.members = setOf()
	}
	for _, id := range ids {
		p.members[id] = true
	}
	return nil
}

// remove removes the members that the path chooses, those of the value, as Microsoft Entra
// has it, or all.
func (p *patchedGroup) remove(o operation) error {
	switch {
	case o.path.filter != nil:
		// A change may have 10,000 operations, so that none looks at each member.
		if f := o.path.filter; f.op != opEq || f.attribute != "value" || f.isBool || f.isNull {
			return invalid(invalidFilter, `Members are chosen by members[value eq "id"].`)
		}
		delete(p.members, o.path.filter.text)
	case o.hasValue && o.value.Kind != jsondoc.Null:
		ids, err := membersOf(o.value, func(string) bool { return true }, LeftOut{})
		if err != nil {
			return err
		}
		for _, id := range ids {
			delete(p.members, id)
		}
	default:
		p.members = setOf()
	}
	return nil
}
