// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// MaxPage is how many users an answer has at most.
	MaxPage = 200
	// DefaultPage is how many users an answer has if nobody says.
	DefaultPage = 50
	// MaxText is how long a text may be that is searched for, in bytes.
	MaxText = 253
)

// Query says which users are asked for. Empty fields ask for all.
type Query struct {
	// Search is a part of the user id, of the namespace or of the name, in any case.
	Search string
	// Phase, Profile, Group and Tier are what a user has.
	Phase   v1alpha1.Phase
	Profile string
	Group   string
	Tier    string
	// Reason and Server are those of a problem that the user has.
	Reason string
	Server string
	// After is the last user of the page before.
	After v1alpha1.UserID
	Limit int
}

// Page is an answer to a query.
type Page struct {
	Users []User `json:"users"`
	// Next is the cursor of the next page, absent on the last one.
	Next v1alpha1.UserID `json:"next,omitempty"`
	// Matched is how many users match on all pages, and Total how many there are.
	Matched int `json:"matched"`
	Total   int `json:"total"`
	// Phases are how many of all users are in which phase.
	Phases map[v1alpha1.Phase]int `json:"phases"`
}

// List returns the users that match, in the order of their ids.
func (s State) List(q Query) Page {
	owners, people := s.owners(), access.NewPeople(s.Persons)
	page := Page{Users: []User{}, Total: len(owners), Phases: map[v1alpha1.Phase]int{}}
	for _, b := range owners {
		page.Phases[b.Status.Phase]++
		if !q.matchesBridge(b) {
			continue
		}
		// Groups take the longest, so the cheap comparisons come first.
		if q.Group != "" && !slices.Contains(s.groups(b, people), q.Group) {
			continue
		}
		page.Matched++
		switch {
		case b.User() <= q.After:
		case len(page.Users) < q.Limit:
			page.Users = append(page.Users, s.user(b, people))
		case page.Next == "" && len(page.Users) > 0:
			page.Next = page.Users[len(page.Users)-1].User
		}
	}
	return page
}

// matchesBridge reports whether a bridge is asked for, as far as the bridge alone says it.
func (q Query) matchesBridge(b *effective.Bridge) bool {
	return (q.Phase == "" || b.Status.Phase == q.Phase) &&
		(q.Tier == "" || b.Spec.Tier == q.Tier) &&
		(q.Profile == "" || slices.ContainsFunc(b.Status.Profiles, func(p v1alpha1.ProfileUse) bool { return p.Name == q.Profile })) &&
		q.matchesText(b) && q.matchesCause(b)
}

func (q Query) matchesText(b *effective.Bridge) bool {
	return q.Search == "" || contains(string(b.User()), q.Search) || contains(b.Namespace, q.Search) || contains(b.Name, q.Search)
}

func (q Query) matchesCause(b *effective.Bridge) bool {
	return q.Reason == "" && q.Server == "" || slices.ContainsFunc(causesOf(b), func(c cause) bool {
		return (q.Reason == "" || c.reason == q.Reason) && (q.Server == "" || c.server == q.Server)
	})
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
