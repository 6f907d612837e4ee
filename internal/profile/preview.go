// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Newest returns the last accepted revisions of the stored profiles, and the given profiles
// in place of those with the same names.
func Newest(stored, given []v1alpha1.BridgeProfile) ([]Profile, error) {
	var all []Profile
	for i := range stored {
		p := &stored[i]
		replaced := slices.ContainsFunc(given, func(g v1alpha1.BridgeProfile) bool { return g.Name == p.Name })
		if replaced || p.DeletionTimestamp != nil || len(p.Status.Revisions) == 0 {
			continue
		}
		one, err := Of(p, p.Status.Revisions[0])
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for _, g := range given {
		all = append(all, Profile{Name: g.Name, UID: string(g.UID), Generation: g.Generation, Spec: g.Spec})
	}
	Sort(all)
	return all, nil
}

// Inputs are what decides, beside a bridge itself, what the bridge has.
type Inputs struct {
	// Profiles are in the order of Sort.
	Profiles []Profile
	Tiers    quota.Tiers
	People   *access.People
	Shared   []v1alpha1.SharedServer
	Requests []v1alpha1.BridgeRequest
	Now      time.Time
}

// After returns the bridge as the profiles make it, and the names of those that select it.
func (i Inputs) After(b *v1alpha1.HostedBridge) (after *effective.Bridge, selected []string) {
	groups, _ := Groups(b, i.People, i.Now)
	var chosen []Profile
	for _, p := range i.Profiles {
		if p.Selects(b, groups) {
			chosen, selected = append(chosen, p), append(selected, p.Name)
		}
	}
	changed := *b
	sharing, approved := SharingOf(b, i.Shared, i.People, i.Now), Approved(i.Requests, b)
	changed.Status.Effective = Effective(b, chosen, i.Tiers, sharing, approved)
	return effective.Of(&changed), selected
}

// Preview is what a change of profiles would change, and for whom.
type Preview struct {
	// Bridges is how many there are, Selected how many of them the profile would select, and
	// Changed how many would change.
	Bridges, Selected, Changed int
	// Effects are the changes, those of one kind together, first those of most users.
	Effects []Effect

	index map[Change]int
}

// Effect is a change, and the users whose bridges would have it.
type Effect struct {
	Change
	Users []v1alpha1.UserID
}

// Add adds what changes for the bridge of a user.
func (p *Preview) Add(user v1alpha1.UserID, changes []Change) {
	if p.Bridges++; len(changes) > 0 {
		p.Changed++
	}
	if p.index == nil {
		p.index = map[Change]int{}
	}
	for _, c := range changes {
		at, known := p.index[c]
		if !known {
			at = len(p.Effects)
			p.index[c], p.Effects = at, append(p.Effects, Effect{Change: c})
		}
		p.Effects[at].Users = append(p.Effects[at].Users, user)
	}
}

// Sort puts the effects and their users in order, each user once: two bridges can claim one
// user id.
func (p *Preview) Sort() {
	for i := range p.Effects {
		slices.Sort(p.Effects[i].Users)
		p.Effects[i].Users = slices.Compact(p.Effects[i].Users)
	}
	slices.SortFunc(p.Effects, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(len(b.Users), len(a.Users)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
	})
	p.index = nil
}
