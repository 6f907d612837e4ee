// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Unprefixed returns the server whose tools have no prefix, as status.unprefixedServer has it:
// the one that was alone when it came, empty if several came together, and nil while the bridge
// has no server. Clients know tools by their names, so it stays while the bridge has any server.
func Unprefixed(b *effective.Bridge) *string {
	switch servers := b.Spec.Servers; {
	case len(servers) == 0:
		return nil
	case b.Status.UnprefixedServer != nil:
		return b.Status.UnprefixedServer
	case len(servers) == 1:
		return new(servers[0].Name)
	}
	return new("")
}

// HasPrefix reports whether the names of a server's tools have a prefix by spec.toolPrefix, or
// would have it if the bridge had the server too.
func HasPrefix(b *effective.Bridge, server string) bool {
	unprefixed := Unprefixed(b)
	return unprefixed != nil && *unprefixed != server
}

// setNames puts into a configuration which server has no prefix, where the number of servers does
// not say it. This server is the first: where the order tells equal names apart, its names stay.
func setNames(c *bridgeconfig.Config, b *effective.Bridge) {
	unprefixed, alone := Unprefixed(b), len(b.Spec.Servers) == 1
	if unprefixed == nil || alone && *unprefixed == b.Spec.Servers[0].Name || !alone && *unprefixed == "" {
		return
	}
	c.Unprefixed = unprefixed
	if at := slices.IndexFunc(c.Servers, func(s bridgeconfig.Server) bool { return s.Name == *unprefixed }); at > 0 {
		c.Servers = slices.Concat(c.Servers[at:at+1], c.Servers[:at], c.Servers[at+1:])
	}
}
