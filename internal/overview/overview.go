// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overview says what administrators see of all users: a list that can be searched,
// one user, and what keeps users from their servers, by cause. Its types are the answers of
// the API under /admin/users and /admin/problems, and it says the same as kubectl does.
//
// The package is pure.
package overview

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// User is a user in a list, with the bridge that the user id belongs to.
type User struct {
	User      v1alpha1.UserID `json:"user"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Phase     v1alpha1.Phase  `json:"phase"`
	// Access is whether somebody may use the bridge, as all BridgePersons say.
	Access v1alpha1.Access `json:"access"`
	// Tier is the one in effect.
	Tier string `json:"tier"`
	// Profiles are the BridgeProfiles that select the bridge, the first to decide first.
	Profiles []string `json:"profiles"`
	// Groups are those that count for profiles, of the manifest and of a provider.
	Groups []string `json:"groups"`
	// Onboarded says that a first login made the bridge.
	Onboarded bool `json:"onboarded"`
	// Servers is the number of servers in effect, and Unhealthy of those that do not work.
	Servers   int `json:"servers"`
	Unhealthy int `json:"unhealthy"`
	Tools     int `json:"tools"`
	Keys      int `json:"keys"`
	// LastActivity is when the bridge was last used, nil if it never was.
	LastActivity *time.Time `json:"lastActivity,omitempty"`
	Created      time.Time  `json:"created"`
}

// Detail is one user.
type Detail struct {
	User

	URL        string                 `json:"url,omitempty"`
	States     []v1alpha1.ServerState `json:"serverStates"`
	Conditions []metav1.Condition     `json:"conditions"`
	// MissingSecrets are the names of secrets that servers need and that are not set.
	MissingSecrets []string `json:"missingSecrets"`
}

// Wake is the answer to who starts a bridge that sleeps.
type Wake struct {
	User v1alpha1.UserID `json:"user"`
	// Waking is false for a bridge that does not sleep, or that nobody may use.
	Waking bool `json:"waking"`
}

// State is what is known of the installation's users.
type State struct {
	Bridges []*effective.Bridge
	Persons []v1alpha1.BridgePerson
	Now     time.Time
}

// owners returns the bridges to which user ids belong, in the order of the user ids.
func (s State) owners() []*effective.Bridge {
	all := slices.DeleteFunc(slices.Clone(s.Bridges), func(b *effective.Bridge) bool { return b.DeletionTimestamp != nil })
	slices.SortFunc(all, func(a, b *effective.Bridge) int {
		if c := strings.Compare(string(a.User()), string(b.User())); c != 0 {
			return c
		}
		if a.Precedes(b.HostedBridge) {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(all, func(a, b *effective.Bridge) bool { return a.User() == b.User() })
}

func (s State) user(b *effective.Bridge, people *access.People) User {
	u := User{
		User: b.User(), Namespace: b.Namespace, Name: b.Name, Phase: b.Status.Phase, Access: people.Bridge(b.HostedBridge), Tier: b.Spec.Tier,
		Profiles: []string{}, Groups: s.groups(b, people), Onboarded: b.Labels[v1alpha1.LabelOnboarded] == "true",
		Servers: len(b.Spec.Servers), Keys: len(b.Spec.APIKeys), Created: b.CreationTimestamp.UTC(),
	}
	for _, p := range b.Status.Profiles {
		u.Profiles = append(u.Profiles, p.Name)
	}
	for _, state := range b.Status.ServerStates {
		if state.State == v1alpha1.ServerUnhealthy {
			u.Unhealthy++
		}
	}
	if t := b.Status.Tools; t != nil {
		u.Tools = int(*t)
	}
	if t := b.Status.LastActivityTime; t != nil {
		u.LastActivity = new(t.UTC())
	}
	return u
}

// groups returns the groups that count for a bridge's profiles.
func (s State) groups(b *effective.Bridge, people *access.People) []string {
	groups, _ := profile.Groups(b.HostedBridge, people, s.Now)
	names := make([]string, 0, len(groups))
	for _, g := range groups {
		names = append(names, g.Value)
	}
	return names
}

// DetailOf returns one user, of the HostedBridge with all of its status.
func (s State) DetailOf(b *effective.Bridge) Detail {
	d := Detail{
		User: s.user(b, access.NewPeople(s.Persons)), URL: b.Status.URL,
		States: b.Status.ServerStates, Conditions: b.Status.Conditions, MissingSecrets: []string{},
	}
	if d.States == nil {
		d.States = []v1alpha1.ServerState{}
	}
	if d.Conditions == nil {
		d.Conditions = []metav1.Condition{}
	}
	if secrets := b.Status.Secrets; secrets != nil && secrets.Missing != nil {
		d.MissingSecrets = secrets.Missing
	}
	return d
}
