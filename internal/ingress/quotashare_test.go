// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// twoIngresses are two that do not count together, because they have no store or
// because it is away. alice has the same tier at each.
func twoIngresses(t *testing.T, store string, tier quota.Tier) (worlds [2]*world, keys [2]string) {
	t.Helper()
	alone(t) // All worlds have the same two variables.
	sharedQuotas, ingresses = store, len(worlds)
	t.Cleanup(func() { sharedQuotas, ingresses = "", 1 })
	for i := range worlds {
		worlds[i], keys[i] = oneUser(t, defaults(), servedBy("alice"))
		worlds[i].setTiers(quota.Tiers{"tight": tier})
		worlds[i].changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "tight" })
	}
	return worlds, keys
}

func TestWhatAHeaderSaysIsLeftIsLeftAtEachOfTwoReplicas(t *testing.T) {
	tier := quota.Tier{PerMinute: 60, PerHour: 12, PerDay: 9000, Burst: 12, ConcurrentCalls: 4, Streams: 2}
	const policy = `"minute";q=30;w=60, "hour";q=6;w=3600, "day";q=4500;w=86400, "burst";q=12;w=24, ` +
		`"calls";q=2;qu="concurrent-requests", "streams";q=1;qu="concurrent-requests"`
	for name, store := range map[string]string{"without a store": "", "while the store is away": "redis://127.0.0.1:1/0"} {
		t.Run(name, func(t *testing.T) {
			worlds, keys := twoIngresses(t, store, tier)
			passed := 0
			for i, w := range worlds {
				idle := w.do(w.request("GET", "/u/alice/health", keys[i], ""))
				for left := 6; left >= 0; left-- {
					got := idle
					if left < 6 {
						got = w.do(w.request("POST", "/u/alice/mcp", keys[i], rpcRequest))
						passed++
					}
					if field := got.header.Get("RateLimit"); got.status != 200 || !strings.Contains(field, fmt.Sprintf(`, "hour";r=%d`, left)) {
						t.Errorf("replica %d: %d, RateLimit %s, want %d left", i, got.status, field, left)
					}
					if got := got.header.Get("RateLimit-Policy"); got != policy {
						t.Errorf("replica %d: RateLimit-Policy %s, want %s", i, got, policy)
					}
				}
				got := w.do(w.request("POST", "/u/alice/mcp", keys[i], rpcRequest))
				if got.status != 429 || !strings.Contains(got.body, `"limit":6,"remaining":0`) ||
					!strings.Contains(got.body, "The tier allows 6 requests each hour at each of 2 replicas.") {
					t.Errorf("replica %d, with nothing left: %d %s", i, got.status, got.body)
				}
			}
			if passed != 12 {
				t.Errorf("%d calls pass at both, want the tier's 12", passed)
			}
		})
	}
}
