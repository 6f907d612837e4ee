// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

func TestAPolicyIsThatOfTheTierAsItIsNow(t *testing.T) {
	var p policies
	tier := quota.Tier{PerMinute: 1, PerHour: 2, PerDay: 3, Burst: 4, MaxBodyBytes: ptr.To[int32](1)}
	for i := range 3 * maxPolicies {
		tier.ConcurrentCalls = int32(i)
		for range 2 {
			for _, name := range []string{"free", fmt.Sprint(i)} {
				if got := p.of(name, tier); len(got) != 1 || got[0] != tier.PolicyField() {
					t.Fatalf("%s has %q, want %q", name, got, tier.PolicyField())
				}
			}
		}
	}
	if n := len(*p.known.Load()); n > maxPolicies {
		t.Errorf("%d are remembered, want at most %d", n, maxPolicies)
	}
	if allocs := testing.AllocsPerRun(100, func() { p.of("free", tier) }); allocs > 0 {
		t.Errorf("%v allocations for a tier that is known", allocs)
	}
}
