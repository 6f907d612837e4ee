// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"maps"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// WithLeftOut returns a Fetch whose reports also have the servers that the operator left
// out of the bridge's configuration, because their recipe cannot be used or because the
// bridge's process ended repeatedly with them. The bridge itself does not know them.
func WithLeftOut(fetch Fetch, read ReadBridge) Fetch {
	return func(ctx context.Context, to route.Backend) (health.Report, error) {
		r, err := fetch(ctx, to)
		if err != nil {
			return r, err
		}
		b, err := read(ctx, to)
		if err != nil {
			return r, nil //nolint:nilerr // It was deleted meanwhile: the report stands alone.
		}
		return addLeftOut(r, b), nil
	}
}

// addLeftOut adds the servers of the spec that the report does not have and that the status
// says are left out.
func addLeftOut(r health.Report, b *effective.Bridge) health.Report {
	servers := maps.Clone(r.Servers)
	for _, s := range b.Spec.Servers {
		if _, reported := servers[s.Name]; reported {
			continue
		}
		if out, ok := leftOut(b, s.Name); ok {
			if servers == nil {
				servers = map[string]health.Server{}
			}
			servers[s.Name] = out
		}
	}
	if len(servers) == len(r.Servers) {
		return r
	}
	r.Servers, r.Status = servers, health.Summarize(servers).Status
	return r
}

// leftOut says why the operator left a server out, if it did.
func leftOut(b *effective.Bridge, server string) (health.Server, bool) {
	for _, recipe := range b.Status.Recipes {
		if recipe.Server == server && recipe.Source == "" && recipe.Reason != "" {
			return health.Server{Status: health.Unhealthy, Reason: bridgestate.SnakeCase(recipe.Reason), Error: cmp.Or(recipe.Message, recipe.Reason)}, true
		}
	}
	for _, outage := range b.Status.Outages {
		if outage.Server == server && outage.Message != "" {
			return health.Server{Status: health.Unhealthy, Error: outage.Message}, true
		}
	}
	return health.Server{}, false
}
