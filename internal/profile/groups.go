// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// MaxAge is for how long the groups count that a provider named at a login. A person who
// does not log in again within it has none of them. Those of a directory stay. A login that
// lies further ahead was noted by a clock that was wrong, and gives none.
const MaxAge = 7 * 24 * time.Hour

// Group is a group of an authority: of an identity provider, or of the manifests of a
// namespace. Equal names of two authorities are two groups.
type Group struct{ Issuer, Namespace, Value string }

// Groups returns the groups of a bridge: those that its manifest names, and those that all
// of its people have, so that nobody gets by a shared bridge what their own groups do not
// give. until is when the first of these ends without a further login; zero is never.
func Groups(b *v1alpha1.HostedBridge, known *access.People, now time.Time) (groups []Group, until time.Time) {
	for _, value := range b.Spec.Groups {
		groups = append(groups, Group{Namespace: b.Namespace, Value: value})
	}
	var common []Group
	for i, person := range known.Of(b) {
		theirs, end := groupsOf(person, now)
		if !end.IsZero() && (until.IsZero() || end.Before(until)) {
			until = end
		}
		if i == 0 {
			common = theirs
			continue
		}
		common = slices.DeleteFunc(common, func(g Group) bool { return !slices.Contains(theirs, g) })
	}
	if len(common) == 0 {
		return groups, time.Time{}
	}
	return append(groups, common...), until
}

// groupsOf returns the groups of a person: those of a directory that knows them, and else
// those of the last login, until these end.
func groupsOf(person access.Person, now time.Time) (groups []Group, until time.Time) {
	values, known := person.Directory()
	if login := person.Login(); !known && login != nil && now.Sub(login.Time.Time).Abs() < MaxAge {
		values, until = login.Groups, login.Time.Add(MaxAge)
	}
	for _, value := range values {
		groups = append(groups, Group{Issuer: person.Issuer(), Value: value})
	}
	return groups, until
}

// Named returns the groups of an issuer that profiles name, in any revision, or SharedServers
// under members: each once, first those of the profiles that decide first.
func Named(profiles []v1alpha1.BridgeProfile, shared []v1alpha1.SharedServer, issuer string) []string {
	var all []Profile
	for i := range profiles {
		p := &profiles[i]
		all = append(all, Profile{Name: p.Name, Spec: p.Spec})
		for _, r := range p.Status.Revisions {
			if former, err := Of(p, r); err == nil {
				all = append(all, former)
			}
		}
	}
	Sort(all)
	var named []string
	seen := map[string]bool{}
	add := func(of, value string) {
		if of == issuer && !seen[value] {
			seen[value], named = true, append(named, value)
		}
	}
	for _, p := range all {
		for _, g := range p.Spec.Who.Groups {
			add(g.Issuer, g.Value)
		}
	}
	for i := range shared {
		for _, g := range shared[i].Spec.Members {
			add(g.Issuer, g.Value)
		}
	}
	return named
}

// MaxGroups is how many groups of a person are stored. With groups of 256 characters of four
// bytes these are 1 MiB, and an object of Kubernetes has 1.5 MiB at most.
const MaxGroups = 1024

// Kept returns the named groups in which a person is, sorted, as they are named, which others
// compare byte for byte. If there are more than MaxGroups it returns the first of them, and how
// many it left out.
func Kept(named []string, in oauth.GroupSet) (kept []string, leftOut int) {
	for _, g := range named {
		switch {
		case !in.Has(g):
		case len(kept) < MaxGroups:
			kept = append(kept, g)
		default:
			leftOut++
		}
	}
	slices.Sort(kept)
	return kept, leftOut
}
