// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"iter"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Person is a person or program that logged in.
type Person struct {
	Subject oauth.SubjectKey
	// Ruled is the user that a rule of the installation derives from the person,
	// empty if it derives none.
	Ruled v1alpha1.UserID
	// Since is when the login or token began by which the person comes. It does not count if
	// logins were ended later. Zero is now.
	Since time.Time
}

// MayUse reports whether p may use the user's bridge where the user is named,
// such as in a URL.
func (t *Table) MayUse(p Person, user v1alpha1.UserID) bool {
	b, exists := t.Lookup(user)
	return exists && t.isOpenFor(p, b) && (p.Ruled == user || slices.Contains(t.Subjects(p.Subject), user))
}

// IsOpen reports whether p has access, whatever p may use.
func (t *Table) IsOpen(p Person) bool {
	s := t.Standing(p.Subject)
	return !s.Closed && p.isAfter(s.LoginsEnded)
}

// isOpenFor reports whether p has access, and nothing was taken away from the bridge that
// keeps p from using it.
func (t *Table) isOpenFor(p Person, b Backend) bool {
	return t.IsOpen(p) && !b.Closed && p.isAfter(b.LoginsEnded)
}

// isAfter reports whether p's login began in a later second than logins were ended. Neither
// times of tokens nor those of BridgePersons have parts of a second, so a login of the same
// second may be from before.
func (p Person) isAfter(ended time.Time) bool {
	return p.Since.IsZero() || ended.IsZero() || p.Since.Truncate(time.Second).After(ended.Truncate(time.Second))
}

// BridgesOf returns the bridges that p may use where their users are named, in
// the order of the users. Anybody who edits HostedBridges can add to them.
func (t *Table) BridgesOf(p Person) iter.Seq[Backend] {
	users := t.Subjects(p.Subject)
	if at, has := slices.BinarySearch(users, p.Ruled); !has && p.Ruled != "" {
		users = slices.Insert(slices.Clone(users), at, p.Ruled)
	}
	return func(yield func(Backend) bool) {
		for _, user := range users {
			if b, exists := t.Lookup(user); exists && t.isOpenFor(p, b) && !yield(b) {
				return
			}
		}
	}
}

// Unasked returns those of p's bridges that a request may use which names no
// user, although p never agreed to a bridge: those in the trusted namespaces, or
// without one the bridge of the rule. Authors of HostedBridges elsewhere can name
// every person as a subject, so such a bridge never adds to the result.
func (t *Table) Unasked(p Person, trusted []string) []Backend {
	var inTrusted []Backend
	for b := range t.BridgesOf(p) {
		if slices.Contains(trusted, b.Namespace) {
			inTrusted = append(inTrusted, b)
		}
	}
	if b, exists := t.Lookup(p.Ruled); exists && t.isOpenFor(p, b) && len(inTrusted) == 0 {
		return []Backend{b}
	}
	return inTrusted
}
