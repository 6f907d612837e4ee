// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"maps"
	"sync/atomic"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// policies are what answers say of tiers: the same as long as the tiers are, and
// longer to write than to look up.
type policies struct {
	known atomic.Pointer[map[string]policy]
}

type policy struct {
	tier quota.Tier
	// field is the value of RateLimit-Policy, which nobody may change.
	field []string
}

// of returns the header's value for a tier of that name. A tier that was changed
// since has its limits in other places of memory, or other limits.
func (p *policies) of(name string, tier quota.Tier) []string {
	known := p.known.Load()
	if known != nil {
		if found, ok := (*known)[name]; ok && found.tier == tier {
			return found.field
		}
	}
	next := map[string]policy{}
	if known != nil && len(*known) < maxPolicies {
		maps.Copy(next, *known)
	}
	found := policy{tier, []string{tier.PolicyField()}}
	next[name] = found
	p.known.Store(&next)
	return found.field
}

// maxPolicies is more tiers than an installation has. Where there are more, all
// are forgotten, so that those that are gone are.
const maxPolicies = 64
