// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// missing returns, in order, the secrets that a server of the bridge needs to
// be in service and that are not stored.
func missing(b *effective.Bridge, stored []secretstore.Entry) []string {
	names := map[string]bool{}
	for _, s := range bridgestate.Servers(b) {
		if s.Shared != "" {
			continue // Its secrets are not the user's.
		}
		for _, name := range s.Required() {
			names[name] = true
		}
	}
	for _, e := range stored {
		delete(names, e.Name)
	}
	return slices.Sorted(maps.Keys(names))
}
