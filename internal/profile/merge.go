// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Effective returns what profiles change of the bridge's spec. All of them select the
// bridge, and are in the order of Sort. It returns nil if there are none. The tiers limit
// how many servers the bridge can have, and sharing which SharedServers it may use. approved
// are the offers that requests of the bridge's user have got.
func Effective(b *v1alpha1.HostedBridge, profiles []Profile, tiers quota.Tiers, sharing Sharing, approved Approvals) *v1alpha1.EffectiveSettings {
	if len(profiles) == 0 {
		return nil
	}
	m := merger{bridge: b, profiles: profiles, sharing: sharing, approved: approved, choices: ptr.Deref(b.Spec.Choices, v1alpha1.Choices{})}
	m.settings()
	m.servers()
	tier := b.Spec.Tier
	if m.out.Tier != "" {
		tier = m.out.Tier
	}
	if limit := tiers[tier].Servers; limit != nil {
		m.fit(int(*limit))
	}
	return &m.out
}

// merger merges the profiles of one bridge.
type merger struct {
	bridge   *v1alpha1.HostedBridge
	profiles []Profile
	sharing  Sharing
	approved Approvals
	choices  v1alpha1.Choices
	out      v1alpha1.EffectiveSettings
}

// settings decides the fields that have one value.
func (m *merger) settings() {
	tier := first(m, "tier", func(p Profile) string { return p.Spec.Tier })
	m.out.Tier = tier.value
	m.out.RuntimeClassName = first(m, "runtimeClassName", func(p Profile) string { return p.Spec.RuntimeClassName }).value

	mode := first(m, "mode", func(p Profile) v1alpha1.Mode { return p.Spec.Mode })
	m.out.Mode = mode.value
	if m.choices.Mode != "" && mode.allows(v1alpha1.ChoiceMode) {
		m.out.Mode = m.choices.Mode
	}
	prefix := first(m, "toolPrefix", func(p Profile) v1alpha1.ToolPrefix { return p.Spec.ToolPrefix })
	m.out.ToolPrefix = prefix.value
	if m.choices.ToolPrefix != "" && prefix.allows(v1alpha1.ChoiceToolPrefix) {
		m.out.ToolPrefix = m.choices.ToolPrefix
	}
	timeout := first(m, "idleTimeout", func(p Profile) metav1.Duration { return ptr.Deref(p.Spec.IdleTimeout, metav1.Duration{}) })
	if timeout.by == nil {
		return
	}
	if wish := m.choices.IdleTimeout; wish != nil && wish.Duration < timeout.value.Duration && timeout.allows(v1alpha1.ChoiceIdleTimeout) {
		timeout.value = *wish
	}
	m.out.IdleTimeout = &timeout.value
}

// decided is the value of a field, and the profile that decides it, nil if none does.
type decided[T comparable] struct {
	value T
	by    *Profile
}

// allows reports whether the deciding profile lets the bridge choose.
func (d decided[T]) allows(c v1alpha1.ProfileChoice) bool {
	return d.by != nil && slices.Contains(d.by.Spec.AllowChoices, c)
}

// first returns the value of the first profile that has one, and notes which profiles of
// the same priority have another one.
func first[T comparable](m *merger, field string, of func(Profile) T) decided[T] {
	var zero T
	var d decided[T]
	var others []string
	for i := range m.profiles {
		p := &m.profiles[i]
		switch value := of(*p); {
		case value == zero:
		case d.by == nil:
			d = decided[T]{value, p}
		case value != d.value && p.Spec.Priority == d.by.Spec.Priority:
			others = append(others, p.Name)
		}
	}
	m.conflict(field, d.by, others)
	return d
}

func (m *merger) conflict(field string, by *Profile, others []string) {
	if len(others) > 0 {
		m.out.Conflicts = append(m.out.Conflicts, v1alpha1.ProfileConflict{Field: field, Profiles: append([]string{by.Name}, others...)})
	}
}

// servers decides which servers the profiles give.
func (m *merger) servers() {
	var names []string
	for _, p := range m.profiles {
		for _, s := range p.Spec.Servers {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
				m.out.Servers = append(m.out.Servers, m.server(s.Name))
			}
		}
	}
}

// server decides about the servers of one name.
func (m *merger) server(name string) v1alpha1.EffectiveServer {
	var by *Profile
	var entry v1alpha1.ProfileServer
	var others, denied []string
	for i := range m.profiles {
		p := &m.profiles[i]
		at := slices.IndexFunc(p.Spec.Servers, func(s v1alpha1.ProfileServer) bool { return s.Name == name })
		if at < 0 {
			continue
		}
		s := p.Spec.Servers[at]
		if s.Tools != nil {
			denied = append(denied, s.Tools.Deny...)
		}
		switch {
		case by == nil:
			by, entry = p, s
		case p.Spec.Priority == by.Spec.Priority && !equality.Semantic.DeepEqual(s, entry):
			others = append(others, p.Name)
		}
	}
	m.conflict("servers["+name+"]", by, others)
	entry.Server = Fill(entry.Server, by.Spec.Variables)
	use := entry.Use
	if use == "" {
		use = v1alpha1.ServerDefault
	}
	out := v1alpha1.EffectiveServer{Name: name, Profile: by.Name, Use: use}
	if entry.Recipe != nil {
		out.Recipe, out.RecipeVersion = entry.Recipe.Name, entry.Recipe.Version
	}
	var offer Offer
	offer, out.Offer = m.offer(entry, use)
	choice := m.choice(name)
	out.Reason = offer.Reason(choice.Use)
	if out.Reason == "" || out.Reason == v1alpha1.ReasonChoiceIgnored {
		m.give(&out, entry, append(denied, choice.Deny...))
	}
	return out
}

// offer returns how an entry is offered, and what is offered on request.
func (m *merger) offer(entry v1alpha1.ProfileServer, use v1alpha1.ServerUse) (Offer, string) {
	offer := Offer{Use: use, Own: m.has(entry.Name)}
	if use != v1alpha1.ServerOnRequest {
		return offer, ""
	}
	what := m.sharing.Offered(entry)
	if approved, found := m.approved[entry.Name]; found {
		offer.Approved, offer.Changed = approved == what, approved != what
	}
	return offer, what
}

// give gives the bridge the server of an entry, without the denied tools, if it is not one of
// a SharedServer that the bridge may not use.
func (m *merger) give(out *v1alpha1.EffectiveServer, entry v1alpha1.ProfileServer, denied []string) {
	server := entry.Server
	if entry.Shared != nil {
		shared, reason := m.sharing.Find(entry.Shared.Name)
		if reason != "" {
			out.Reason = reason
			return
		}
		out.Shared, server = shared.Name, sharedServer(server, shared)
	}
	deny(&server, denied)
	out.Source = encode(server)
}

func (m *merger) choice(name string) v1alpha1.ServerChoice {
	for _, c := range m.choices.Servers {
		if c.Name == name {
			return c
		}
	}
	return v1alpha1.ServerChoice{}
}

// has reports whether the spec has a server of that name.
func (m *merger) has(name string) bool {
	return slices.ContainsFunc(m.bridge.Spec.Servers, func(s v1alpha1.Server) bool { return s.Name == name })
}

// deny adds tools to those that the server denies, each once.
func deny(s *v1alpha1.Server, tools []string) {
	if len(tools) == 0 {
		return
	}
	slices.Sort(tools)
	filter := v1alpha1.ToolFilter{Deny: slices.Compact(tools)}
	if s.Tools != nil {
		filter.Allow = s.Tools.Allow
	}
	s.Tools = &filter
}

func encode(s v1alpha1.Server) string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // A server was read from JSON and can be written.
	}
	return string(text)
}

// fit leaves servers out for which the tier has no room. Room goes to those that profiles
// require, then to the spec's own, and then to the others in the order of the profiles.
func (m *merger) fit(limit int) {
	room := limit
	take := func(use v1alpha1.ServerUse) {
		for i := range m.out.Servers {
			s := &m.out.Servers[i]
			if s.Use != use || s.Source == "" {
				continue
			}
			if room--; room < 0 {
				s.Source, s.Reason = "", v1alpha1.ReasonServerNoRoom
			}
		}
	}
	take(v1alpha1.ServerRequired)
	required := limit - max(room, 0)
	own := m.own()
	// A spec that has too many servers by itself is refused, as it is without profiles.
	if len(m.bridge.Spec.Servers) <= limit && required+len(own) > limit {
		m.out.LeftOut = own[limit-required:]
		own = own[:limit-required]
	}
	room = max(room, 0) - len(own)
	take(v1alpha1.ServerDefault)
	take(v1alpha1.ServerOptional)
	take(v1alpha1.ServerOnRequest)
}

// own returns the names of the spec's servers that no required server replaces.
func (m *merger) own() []string {
	var names []string
	for _, s := range m.bridge.Spec.Servers {
		if !slices.ContainsFunc(m.out.Servers, func(o v1alpha1.EffectiveServer) bool {
			return o.Name == s.Name && o.Use == v1alpha1.ServerRequired && o.Source != ""
		}) {
			names = append(names, s.Name)
		}
	}
	return names
}
