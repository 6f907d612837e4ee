// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package effective has the HostedBridge as it is in effect: its spec, changed by
// profiles, choices, requests and the access of its people. The part of profiles is
// decided in internal/profile and kept in status.effective. Decisions take a
// Bridge, so that none can read a spec that is not in effect.
//
// The package is pure.
package effective

import (
	"encoding/json"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Bridge is a HostedBridge and the spec that is in effect.
type Bridge struct {
	// HostedBridge is the object as it is stored: what it is called, and its status.
	*v1alpha1.HostedBridge
	// Spec is the one in effect. It hides the one that is stored.
	Spec Spec
}

// Spec is a spec in effect.
type Spec struct {
	// HostedBridgeSpec has no servers: Servers has them.
	v1alpha1.HostedBridgeSpec
	Servers []Server
}

// Server is a server in effect.
type Server struct {
	v1alpha1.Server
	// Shared is the SharedServer of a server that a profile gives, empty for others.
	Shared string
}

// Of returns the bridge in effect: with what status.effective says, and suspended if
// status.access is set. It does not change b. A server that cannot be read is left out.
//
// A cache may keep a bridge whose spec is the one in effect, without the sources in
// status.effective: Of returns that spec.
func Of(b *v1alpha1.HostedBridge) *Bridge {
	out := &Bridge{b, Spec{HostedBridgeSpec: b.Spec}}
	out.Spec.HostedBridgeSpec.Servers = nil
	out.Spec.DesiredState = State(b)
	e := b.Status.Effective
	if e == nil {
		e = &v1alpha1.EffectiveSettings{}
	}
	out.Spec.Servers = servers(e, b.Spec.Servers)
	if e.Tier != "" {
		out.Spec.Tier = e.Tier
	}
	if e.Mode != "" {
		out.Spec.Mode = e.Mode
	}
	if e.ToolPrefix != "" {
		out.Spec.ToolPrefix = e.ToolPrefix
	}
	if e.IdleTimeout != nil {
		out.Spec.IdleTimeout = e.IdleTimeout
	}
	if e.RuntimeClassName != "" {
		out.Spec.RuntimeClassName = &e.RuntimeClassName
	}
	return out
}

// servers returns the servers in effect of a spec that has its own.
func servers(e *v1alpha1.EffectiveSettings, own []v1alpha1.Server) []Server {
	var all []Server
	for _, s := range own {
		if !slices.Contains(e.LeftOut, s.Name) {
			all = append(all, Server{Server: s})
		}
	}
	for _, given := range e.Servers {
		at := slices.IndexFunc(all, func(s Server) bool { return s.Name == given.Name })
		if given.Source == "" {
			if at >= 0 && Gives(given) {
				all[at].Shared = given.Shared
			}
			continue
		}
		server := Server{Shared: given.Shared}
		if json.Unmarshal([]byte(given.Source), &server.Server) != nil {
			continue
		}
		server.Name = given.Name
		switch {
		case at < 0:
			all = append(all, server)
		case given.Use == v1alpha1.ServerRequired:
			all[at] = server
		}
	}
	return all
}

// WithStatus returns the bridge with another status. The spec stays.
func (b *Bridge) WithStatus(status v1alpha1.HostedBridgeStatus) *Bridge {
	object := *b.HostedBridge
	object.Status = status
	return &Bridge{&object, b.Spec}
}

// Has reports whether the spec in effect has the server.
func (b *Bridge) Has(server string) bool {
	return slices.ContainsFunc(b.Spec.Servers, func(s Server) bool { return s.Name == server })
}

// Gives reports whether the bridge has the server.
func Gives(s v1alpha1.EffectiveServer) bool {
	return s.Reason == "" || s.Reason == v1alpha1.ReasonChoiceIgnored
}
