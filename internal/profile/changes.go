// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Kind is what a change is about.
type Kind int

// The kinds, in the order in which a summary has them: first what is taken away.
const (
	// ServerLost is a server that the bridge has no more.
	ServerLost Kind = iota
	// ChoiceEnded is a choice of the user that has an effect, and would have none.
	ChoiceEnded
	// ServerChanged is a server that stays, with other settings or at another place.
	ServerChanged
	// FieldChanged is a field with another value.
	FieldChanged
	// ServerGained is a server that the bridge gets.
	ServerGained
)

// Change is one difference between a bridge and the same bridge afterwards.
type Change struct {
	Kind Kind
	// Name is the server, the field, or the field of spec.choices.
	Name string
	// From and To are the values of a field, or "none".
	From, To string
}

// String says the change in a few words.
func (c Change) String() string {
	switch c.Kind {
	case ServerLost:
		return "- server " + c.Name
	case ChoiceEnded:
		return "! choice " + c.Name + " ends"
	case ServerChanged:
		return "~ server " + c.Name
	case ServerGained:
		return "+ server " + c.Name
	default:
		return c.Name + ": " + c.From + " -> " + c.To
	}
}

// Changes returns how the spec of a bridge in effect differs from before, and which of the
// user's choices end by it.
func Changes(before, after *effective.Bridge) []Change {
	was, is := before.Spec, after.Spec
	var list []Change
	field := func(name, from, to string) {
		if from != to {
			list = append(list, Change{FieldChanged, name, shown(from), shown(to)})
		}
	}
	field("tier", was.Tier, is.Tier)
	field("mode", string(was.Mode), string(is.Mode))
	field("toolPrefix", string(was.ToolPrefix), string(is.ToolPrefix))
	field("idleTimeout", before.IdleTimeout().String(), after.IdleTimeout().String())
	field("runtimeClassName", ptr.Deref(was.RuntimeClassName, ""), ptr.Deref(is.RuntimeClassName, ""))
	server := func(kind Kind, name string) { list = append(list, Change{Kind: kind, Name: name}) }
	for _, s := range was.Servers {
		if at := slices.IndexFunc(is.Servers, func(o effective.Server) bool { return o.Name == s.Name }); at < 0 {
			server(ServerLost, s.Name)
		} else if !equality.Semantic.DeepEqual(s, is.Servers[at]) {
			server(ServerChanged, s.Name)
		}
	}
	for _, s := range is.Servers {
		if !before.Has(s.Name) {
			server(ServerGained, s.Name)
		}
	}
	ignored := bridgestate.IgnoredChoices(before)
	for _, choice := range bridgestate.IgnoredChoices(after) {
		if !slices.ContainsFunc(ignored, func(o bridgestate.Ignored) bool { return o.Field == choice.Field }) {
			server(ChoiceEnded, choice.Field)
		}
	}
	return list
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
