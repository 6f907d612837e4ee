// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The reasons of problems beside those of status.serverStates.
const (
	// ReasonFailed: the operator does not run the bridge.
	ReasonFailed = "BridgeFailed"
	// ReasonOther: the server says no reason of those that are known.
	ReasonOther = "Unhealthy"
)

// maxNamed is how many users a problem names.
const maxNamed = 5

// Problems are what keeps users from their servers.
type Problems struct {
	// Users is how many users cannot use something, and Total how many there are.
	Users int `json:"users"`
	Total int `json:"total"`
	// Phases are how many of all users are in which phase.
	Phases   map[v1alpha1.Phase]int `json:"phases"`
	Problems []Problem              `json:"problems"`
}

// Problem is one cause, for all users who have it.
type Problem struct {
	// Reason is one of status.serverStates, BridgeFailed, Unhealthy, or that of a condition of the bridge:
	// PodRefused, PodUnschedulable, ImageNotPulled or UnknownGroup.
	Reason string `json:"reason"`
	// Server and Recipe are what does not work; they are empty for a bridge.
	Server string `json:"server,omitempty"`
	Recipe string `json:"recipe,omitempty"`
	// Message is that of the first user.
	Message string `json:"message,omitempty"`
	// Users is how many users have the problem, and Named are some of them.
	Users int               `json:"users"`
	Named []v1alpha1.UserID `json:"named"`
	// Since is when the first of them got it, nil if that is not known.
	Since *time.Time `json:"since,omitempty"`
}

// cause is why a user cannot use something.
type cause struct{ reason, server, recipe, message string }

// causesOf returns why a bridge's user cannot use something. A user without access, and so
// without a pod, has no problem with servers.
func causesOf(b *effective.Bridge) []cause {
	switch b.Status.Phase {
	case v1alpha1.PhaseFailed:
		return []cause{{reason: ReasonFailed, message: failedBy(b.Status.Conditions)}}
	case v1alpha1.PhaseSuspended, v1alpha1.PhaseOffboarded:
		return nil
	}
	var causes []cause
	if c := route.BlockedBy(b.HostedBridge); c != nil {
		causes = append(causes, cause{reason: c.Reason, message: c.Message})
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProfilesApplied); c != nil && c.Reason == v1alpha1.ReasonUnknownGroup {
		causes = append(causes, cause{reason: c.Reason, message: c.Message})
	}
	for _, s := range b.Status.ServerStates {
		if s.State == v1alpha1.ServerUnhealthy {
			causes = append(causes, cause{cmp.Or(s.Reason, ReasonOther), s.Name, s.From, s.Message})
		}
	}
	return causes
}

// Problems returns what keeps users from their servers, what most users have first.
func (s State) Problems() Problems {
	type key struct{ reason, server, recipe string }
	owners, found := s.owners(), map[key]*Problem{}
	out := Problems{Total: len(owners), Phases: map[v1alpha1.Phase]int{}, Problems: []Problem{}}
	for _, b := range owners {
		out.Phases[b.Status.Phase]++
		causes := causesOf(b)
		if len(causes) > 0 {
			out.Users++
		}
		for _, c := range causes {
			k := key{c.reason, c.server, c.recipe}
			p := found[k]
			if p == nil {
				p = &Problem{Reason: c.reason, Server: c.server, Recipe: c.recipe, Message: c.message}
				found[k] = p
			}
			p.Users++
			if len(p.Named) < maxNamed {
				p.Named = append(p.Named, b.User())
			}
			p.notice(sinceOf(b, c.server))
		}
	}
	for _, p := range found {
		out.Problems = append(out.Problems, *p)
	}
	slices.SortFunc(out.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.Users, a.Users), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Recipe, b.Recipe), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// notice keeps the earliest time.
func (p *Problem) notice(since *time.Time) {
	if since != nil && (p.Since == nil || since.Before(*p.Since)) {
		p.Since = since
	}
}

// sinceOf returns since when a server is as it is.
func sinceOf(b *effective.Bridge, server string) *time.Time {
	for _, s := range b.Status.ServerStates {
		if s.Name == server && s.Since != nil {
			return new(s.Since.UTC())
		}
	}
	return nil
}
