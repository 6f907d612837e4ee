// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"regexp"
)

// UserID names a user in a URL: the :userId of /u/:userId/mcp. A value that
// did not come from ParseUserID or from a validated object is not a UserID.
type UserID string

// UserIDPattern is the only definition of a valid user id: a DNS label, so
// that it needs no escaping in a URL, a host name, a label or a file name. The
// CEL rules on HostedBridge repeat it, and a test holds them together.
const UserIDPattern = `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`

// UserIDForm says in words what UserIDPattern accepts.
const UserIDForm = "1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit"

var userIDRegexp = regexp.MustCompile(UserIDPattern)

// ParseUserID returns s as a user id, or an error that says what is accepted.
func ParseUserID(s string) (UserID, error) {
	if !userIDRegexp.MatchString(s) {
		return "", fmt.Errorf("user id %.80q is not valid: it must be %s", s, UserIDForm)
	}
	return UserID(s), nil
}

// User returns the user whose bridge b is: spec.userID, or the object's name
// where that is not set.
func (b *HostedBridge) User() UserID {
	if b.Spec.UserID != "" {
		return b.Spec.UserID
	}
	return UserID(b.Name)
}

// Precedes reports whether b has the better claim to a user id that other
// claims too: the older object wins, and among objects of the same second the
// one whose namespace and name sort first. Operator and ingress both decide by
// this rule, so that they agree without talking.
func (b *HostedBridge) Precedes(other *HostedBridge) bool {
	if !b.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return b.CreationTimestamp.Before(&other.CreationTimestamp)
	}
	if b.Namespace != other.Namespace {
		return b.Namespace < other.Namespace
	}
	return b.Name < other.Name
}
