// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// NewGroup reads the body that creates a group, and returns what of it has no effect.
func NewGroup(body []byte, isID IsUserID) (Group, LeftOut, error) {
	return PutGroup(Group{}, body, isID)
}

// PutGroup is NewGroup for the body that replaces a group. Without members the group has none.
func PutGroup(g Group, body []byte, isID IsUserID) (Group, LeftOut, error) {
	doc, err := parseObject(body)
	if err != nil {
		return Group{}, nil, err
	}
	attributes, err := groups.attributes(doc)
	if err != nil {
		return Group{}, nil, err
	}
	left := LeftOut{}
	g.DisplayName, g.Members = "", nil
	for _, a := range attributes {
		if a.name == attrMembers {
			g.Members, err = membersOf(a.value, isID, left)
		} else {
			err = g.set(a.name, a.value)
		}
		if err != nil {
			return Group{}, nil, err
		}
	}
	g.Members = sorted(g.Members)
	return g, left, g.validate()
}

// set stores one attribute other than the members.
func (g *Group) set(attribute string, v jsondoc.Value) error {
	var err error
	switch attribute {
	case attrDisplayName:
		g.DisplayName, err = textOf(v, "displayName", maxText)
	case attrExternalID:
		var externalID string
		if externalID, err = textOf(v, "externalId", maxText); externalID != "" {
			g.ExternalID = externalID
		}
	case attrID:
		err = isSame(g.ID, v)
	}
	return err
}

func (g *Group) validate() error {
	switch {
	case g.DisplayName == "":
		return invalid(invalidValue, "displayName is required.")
	case len(g.Members) > MaxMembers:
		return errTooManyMembers
	}
	return nil
}

// Without returns the members that are not among others.
func Without(members, others []string) []string {
	known := make(map[string]bool, len(others))
	for _, id := range others {
		known[id] = true
	}
	return slices.DeleteFunc(slices.Clone(members), func(id string) bool { return known[id] })
}
