// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"errors"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// LeftOut counts the parts of a request that have no effect, by the reason, which is one of
// Reasons. A part that would refuse a request is left out if the request takes access away.
type LeftOut map[string]int

// The reasons beside the scimTypes of errors.
const (
	unknownAttribute = "unknownAttribute"
	unknownMember    = "unknownMember"
	nestedGroup      = "nestedGroup"
	noExternalID     = "noExternalId"
)

// Reasons are those of LeftOut.
var Reasons = append([]string{unknownAttribute, unknownMember, nestedGroup, noExternalID}, scimTypes...)

func (l LeftOut) add(reason string) { l[reason]++ }

// addError counts a part that would refuse the request.
func (l LeftOut) addError(err error) {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		l.add(p.Code)
	}
}

// NoteMembers counts members that the store does not have.
func (l LeftOut) NoteMembers(n int) {
	if n > 0 {
		l[unknownMember] += n
	}
}

// NoteUser counts a user whom no login can join.
func (l LeftOut) NoteUser(u User) {
	if u.ExternalID == "" {
		l.add(noExternalID)
	}
}

// NoteTaken counts a name that another resource has.
func (l LeftOut) NoteTaken() { l.add(uniqueness) }
