// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// MaxAge is for how long the groups count that a provider named at a login. A person who
// does not log in again within it has none of them.
const MaxAge = 7 * 24 * time.Hour

// Group is a group of an authority: of an identity provider, or of the manifests of a
// namespace. Equal names of two authorities are two groups.
type Group struct{ Issuer, Namespace, Value string }

// PersonName returns the name of the BridgePerson of a person: 130 bits of the key, so
// that it is the same on each replica and two people have two names.
func PersonName(key oauth.SubjectKey) string {
	return "p-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key[:])[:26])
}

// People are the persons of which something is known.
type People struct {
	bySubject map[oauth.SubjectKey]*v1alpha1.BridgePerson
	byUser    map[v1alpha1.UserID][]*v1alpha1.BridgePerson
}

// NewPeople returns the people of these objects, which must not change.
func NewPeople(persons []v1alpha1.BridgePerson) People {
	p := People{map[oauth.SubjectKey]*v1alpha1.BridgePerson{}, map[v1alpha1.UserID][]*v1alpha1.BridgePerson{}}
	for i := range persons {
		one := &persons[i]
		p.bySubject[oauth.KeyOf(one.Spec.Issuer, one.Spec.Subject)] = one
		if one.Status.Login != nil && one.Status.Login.User != "" {
			p.byUser[one.Status.Login.User] = append(p.byUser[one.Status.Login.User], one)
		}
	}
	return p
}

// Groups returns the groups of a bridge: those that its manifest names, and those that all
// of its people have, so that nobody gets by a shared bridge what their own groups do not
// give. until is when the first of these ends without a further login; zero is never.
func (p People) Groups(b *v1alpha1.HostedBridge, now time.Time) (groups []Group, until time.Time) {
	for _, value := range b.Spec.Groups {
		groups = append(groups, Group{Namespace: b.Namespace, Value: value})
	}
	people, ok := p.of(b)
	if !ok {
		return groups, time.Time{}
	}
	var common []Group
	for i, person := range people {
		login := person.Status.Login
		if login == nil || now.Sub(login.Time.Time) >= MaxAge {
			return groups, time.Time{}
		}
		if end := login.Time.Add(MaxAge); until.IsZero() || end.Before(until) {
			until = end
		}
		if i == 0 {
			common = groupsOf(person)
			continue
		}
		theirs := groupsOf(person)
		common = slices.DeleteFunc(common, func(g Group) bool { return !slices.Contains(theirs, g) })
	}
	if len(common) == 0 {
		return groups, time.Time{}
	}
	return append(groups, common...), until
}

// of returns the people of a bridge. ok is false if there are none, or one of whom nothing
// is known.
func (p People) of(b *v1alpha1.HostedBridge) (people []*v1alpha1.BridgePerson, ok bool) {
	if b.Spec.OAuth != nil {
		for _, s := range b.Spec.OAuth.Subjects {
			person := p.bySubject[oauth.KeyOf(s.Issuer, s.Subject)]
			if person == nil {
				return nil, false
			}
			people = append(people, person)
		}
	}
	people = append(people, p.byUser[b.User()]...)
	return people, len(people) > 0
}

func groupsOf(p *v1alpha1.BridgePerson) []Group {
	var groups []Group
	for _, value := range p.Status.Login.Groups {
		groups = append(groups, Group{Issuer: p.Spec.Issuer, Value: value})
	}
	return groups
}

// Named returns the groups of an issuer that profiles name, in any revision.
func Named(profiles []v1alpha1.BridgeProfile, issuer string) []string {
	var named []string
	add := func(spec v1alpha1.BridgeProfileSpec) {
		for _, g := range spec.Who.Groups {
			if g.Issuer == issuer {
				named = append(named, g.Value)
			}
		}
	}
	for i := range profiles {
		of := &profiles[i]
		add(of.Spec)
		for _, r := range of.Status.Revisions {
			if p, err := Of(of, r); err == nil {
				add(p.Spec)
			}
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}
