// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// NewUser reads the body that creates a user, who is active unless it says otherwise.
func NewUser(body []byte) (User, error) {
	doc, err := parseObject(body)
	if err != nil {
		return User{}, err
	}
	u := User{Active: true}
	if err := u.read(doc); err != nil {
		return User{}, err
	}
	return u, u.validate()
}

// PutUser reads the body that replaces a user, and returns what of it has no effect. What
// identifies them stays, and so does active if the body does not name it: nobody gets access
// back by a body that is not about access.
func PutUser(u User, body []byte) (User, LeftOut, error) {
	doc, err := parseObject(body)
	if err != nil {
		return User{}, nil, err
	}
	c := changedUser{User: u, left: LeftOut{}}
	c.UserName, c.DisplayName, c.Profile = "", "", ""
	attributes, err := users.attributes(doc)
	c.note(err)
	for _, a := range attributes {
		c.note(c.set(a.name, a.value))
	}
	return c.result(u)
}

// changedUser is a user while a request changes them.
type changedUser struct {
	User

	left LeftOut
	// deactivates is whether the request says that the user is not active. Such a request is
	// never refused: what cannot be done of it is left out.
	deactivates bool
	// err is the first that refuses the request otherwise.
	err error
}

func (c *changedUser) note(err error) {
	if err == nil {
		return
	}
	c.left.addError(err)
	if c.err == nil {
		c.err = err
	}
}

// set stores one attribute, or leaves it as it is if there is an error.
func (c *changedUser) set(attribute string, v jsondoc.Value) error {
	next := c.User
	if err := next.set(attribute, v); err != nil {
		return err
	}
	c.User = next
	if attribute == attrActive {
		c.deactivates = !c.Active
	}
	return nil
}

// result returns the user as the request changes them.
func (c *changedUser) result(before User) (User, LeftOut, error) {
	c.note(c.validate())
	if c.err != nil && !c.deactivates {
		return User{}, nil, c.err
	}
	if c.UserName == "" {
		c.UserName = before.UserName
	}
	return c.User, c.left, nil
}

// read stores the attributes of an object.
func (u *User) read(doc jsondoc.Value) error {
	attributes, err := users.attributes(doc)
	if err != nil {
		return err
	}
	for _, a := range attributes {
		if err := u.set(a.name, a.value); err != nil {
			return err
		}
	}
	return nil
}

// set stores one attribute.
func (u *User) set(attribute string, v jsondoc.Value) error {
	var err error
	switch attribute {
	case attrUserName:
		u.UserName, err = textOf(v, "userName", maxText)
	case attrDisplayName:
		u.DisplayName, err = nameOf(v, "displayName")
	case attrActive:
		u.Active, err = boolOf(v, "active")
	case attrExternalID:
		err = u.setExternalID(v)
	case attrID:
		err = isSame(u.ID, v)
	default:
		u.describe(operation{op: opReplace, path: path{attribute: attribute}, value: v})
	}
	return err
}

// setExternalID stores the externalId of a user who is created. A login joins the record by it,
// so that it does not change, and one who was created without it does not get one.
func (u *User) setExternalID(v jsondoc.Value) error {
	text, err := textOf(v, "externalId", maxExternalID)
	switch {
	case err != nil || text == "" || text == u.ExternalID:
		return err
	case u.ExternalID != "":
		return invalid(mutability, "externalId does not change: delete the user and create another one.")
	case u.ID != "":
		return invalid(mutability, "The user was created without externalId: delete the user, and create it again with one.")
	case strings.HasPrefix(text, NoExternalID):
		return invalid(invalidValue, "externalId must not begin with %q.", NoExternalID)
	}
	u.ExternalID = text
	return nil
}

// NoExternalID begins the subjects under which users without externalId are stored. No identity
// provider has such a sub, so that no login is theirs.
const NoExternalID = "no externalId: "

// isSame refuses another id than the resource has. One that is created has none yet, and
// gets its own.
func isSame(id string, v jsondoc.Value) error {
	if id != "" && (v.Kind != jsondoc.String || v.Text != id) {
		return invalid(mutability, "id is set by the installation.")
	}
	return nil
}

func (u *User) validate() error {
	if u.UserName == "" {
		return invalid(invalidValue, "userName is required.")
	}
	return nil
}
