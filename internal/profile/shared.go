// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// RefusesShared returns why the installation refuses the SharedServer, one of all that there
// are: bridges could not use it, or the older ones are as many as there may be.
func RefusesShared(s *v1alpha1.SharedServer, all []v1alpha1.SharedServer) bridgestate.Finding {
	older := 0
	for i := range all {
		if c := cmp.Or(all[i].CreationTimestamp.Compare(s.CreationTimestamp.Time), cmp.Compare(all[i].Name, s.Name)); c < 0 {
			older++
		}
	}
	if older >= v1alpha1.MaxSharedServers {
		return bridgestate.Finding{Reason: v1alpha1.ReasonTooManyShared, Message: fmt.Sprintf(
			"an installation takes %d SharedServers, and there are as many older ones: delete one of them", v1alpha1.MaxSharedServers)}
	}
	b := effective.Of(&v1alpha1.HostedBridge{})
	b.Spec.Servers = []effective.Server{{Server: sharedServer(v1alpha1.Server{Name: "server"}, s), Shared: s.Name}}
	f := bridgestate.Refuses(bridgestate.Servers(b)[0])
	if f.Reason != "" {
		f.Message = "spec.server: " + f.Message
	}
	return f
}

// Sharing says which SharedServers a bridge may use.
type Sharing struct {
	servers []v1alpha1.SharedServer
	bridge  *v1alpha1.HostedBridge
	groups  []Group
	active  bool
}

// SharingOf returns which of the servers the bridge may use. The servers must not change.
func SharingOf(b *v1alpha1.HostedBridge, servers []v1alpha1.SharedServer, people *access.People, now time.Time) Sharing {
	if len(servers) == 0 {
		return Sharing{}
	}
	groups, _ := Groups(b, people, now)
	return Sharing{servers: servers, bridge: b, groups: groups, active: allActive(b, people)}
}

// allActive reports whether the bridge has people, and all of them have access. A bridge goes
// on for one of two people without the other, but a shared secret does not go along.
func allActive(b *v1alpha1.HostedBridge, people *access.People) bool {
	of := people.Of(b)
	return len(of) > 0 && people.User(b.User()).Access() == v1alpha1.AccessAllowed &&
		!slices.ContainsFunc(of, func(p access.Person) bool { return p.Access() != v1alpha1.AccessAllowed })
}

// Find returns the SharedServer of that name, or why the bridge may not use it.
func (s Sharing) Find(name string) (server *v1alpha1.SharedServer, reason string) {
	at := slices.IndexFunc(s.servers, func(o v1alpha1.SharedServer) bool { return o.Name == name })
	if at < 0 || s.servers[at].DeletionTimestamp != nil || RefusesShared(&s.servers[at], s.servers).Reason != "" {
		return nil, v1alpha1.ReasonUnknownShared
	}
	server = &s.servers[at]
	if !s.active || !hasNamespace(server.Spec.Namespaces, s.bridge.Namespace) || !InAny(server.Spec.Members, s.groups) {
		return nil, v1alpha1.ReasonNotMember
	}
	return server, ""
}

// InAny reports whether the list has one of the groups. It has groups of identity providers
// alone, so no group of a manifest is among them.
func InAny(list []v1alpha1.IssuerGroup, groups []Group) bool {
	return slices.ContainsFunc(list, func(g v1alpha1.IssuerGroup) bool {
		return g.Issuer != "" && slices.Contains(groups, Group{Issuer: g.Issuer, Value: g.Value})
	})
}

func hasNamespace(list []string, namespace string) bool {
	return slices.Contains(list, namespace) || slices.Contains(list, "*")
}

// sharedServer returns the entry of a profile with what the SharedServer says of it.
func sharedServer(entry v1alpha1.Server, shared *v1alpha1.SharedServer) v1alpha1.Server {
	out := *entry.DeepCopy()
	out.Transport, out.Secrets = *shared.Spec.Server.Transport.DeepCopy(), slices.Clone(shared.Spec.Secrets)
	out.Recipe, out.Auth = nil, nil
	return out
}

// Names reports whether the profile names the SharedServer, or any where the name is empty.
func (p Profile) Names(shared string) bool {
	return slices.ContainsFunc(p.Spec.Servers, func(s v1alpha1.ProfileServer) bool {
		return s.Shared != nil && (shared == "" || s.Shared.Name == shared)
	})
}
