// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package profile says which BridgeProfiles select a HostedBridge, and what they change
// of its spec.
//
// Profiles are ordered by priority and then by name. The first one that has a field
// decides it. Servers add up: of two with the same name, the first profile's counts, and
// a tool that any of them denies is denied.
//
// The package is pure.
package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Profile is one revision of a BridgeProfile.
type Profile struct {
	Name, UID  string
	Generation int64
	Spec       v1alpha1.BridgeProfileSpec
}

// Of returns a revision of a profile. A revision without a spec, which stands for the
// time before a profile was created, selects no bridge.
func Of(p *v1alpha1.BridgeProfile, r v1alpha1.ProfileRevision) (Profile, error) {
	out := Profile{Name: p.Name, UID: string(p.UID), Generation: r.Generation}
	if r.Spec == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(r.Spec), &out.Spec); err != nil {
		return Profile{}, fmt.Errorf("read generation %d of BridgeProfile %s: %w", r.Generation, p.Name, err)
	}
	return out, nil
}

// Selects reports whether the profile is for the bridge, which has these groups.
func (p Profile) Selects(b *v1alpha1.HostedBridge, groups []Group) bool {
	who := p.Spec.Who
	if !hasNamespace(who.Namespaces, b.Namespace) {
		return false
	}
	return who.Everyone || slices.Contains(who.Users, b.User()) || slices.ContainsFunc(who.Groups, func(g v1alpha1.ProfileGroup) bool {
		return slices.Contains(groups, Group{Issuer: g.Issuer, Namespace: g.FromNamespace, Value: g.Value})
	})
}

// Sort orders profiles as they decide.
func Sort(profiles []Profile) {
	slices.SortFunc(profiles, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), cmp.Compare(a.Name, b.Name))
	})
}
