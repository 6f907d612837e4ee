// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// missing returns, in order, the secrets without which a server of the bridge
// is out of service and which are not stored.
func missing(servers []v1alpha1.Server, stored []store.Entry) []string {
	names := map[string]bool{}
	for _, s := range servers {
		for _, name := range plan.Upstream(s).Required() {
			names[name] = true
		}
	}
	for _, e := range stored {
		delete(names, e.Name)
	}
	return slices.Sorted(maps.Keys(names))
}
