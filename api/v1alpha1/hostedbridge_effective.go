// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"
)

// WithEffective returns the bridge with the spec that is in effect: its own, changed by
// what status.effective says, and suspended if status.access is set. It does not change b,
// and returns b itself if nothing is changed. A server that cannot be read is left out.
func (b *HostedBridge) WithEffective() *HostedBridge {
	if b.Status.Effective == nil && b.Status.Access == nil {
		return b
	}
	out := *b // The fields below are replaced and never changed in place.
	if b.Status.Access != nil {
		out.Spec.DesiredState = StateSuspended
	}
	if b.Status.Effective != nil {
		b.Status.Effective.apply(&out.Spec)
	}
	return &out
}

// apply changes the fields of a spec that profiles decide.
func (e *EffectiveSettings) apply(s *HostedBridgeSpec) {
	if e.Tier != "" {
		s.Tier = e.Tier
	}
	if e.Mode != "" {
		s.Mode = e.Mode
	}
	if e.ToolPrefix != "" {
		s.ToolPrefix = e.ToolPrefix
	}
	if e.IdleTimeout != nil {
		s.IdleTimeout = e.IdleTimeout
	}
	if e.RuntimeClassName != "" {
		s.RuntimeClassName = &e.RuntimeClassName
	}
	s.Servers = e.servers(s.Servers)
}

// servers returns the servers in effect of a spec that has its own.
func (e *EffectiveSettings) servers(own []Server) []Server {
	all := slices.DeleteFunc(slices.Clone(own), func(s Server) bool { return slices.Contains(e.LeftOut, s.Name) })
	for _, given := range e.Servers {
		var server Server
		if given.Source == "" || json.Unmarshal([]byte(given.Source), &server) != nil {
			continue
		}
		server.Name = given.Name
		at := slices.IndexFunc(all, func(s Server) bool { return s.Name == given.Name })
		switch {
		case at < 0:
			all = append(all, server)
		case given.Use == ServerRequired:
			all[at] = server
		}
	}
	return all
}

// Gives reports whether the bridge has the server.
func (s EffectiveServer) Gives() bool { return s.Reason == "" || s.Reason == ReasonChoiceIgnored }
