// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestThePodsMemoryHoldsWhatEachTierAllows computes it from the shipped tiers. Large messages wait
// for each other; each of them, and all small ones at once, have to fit into the default limit.
func TestThePodsMemoryHoldsWhatEachTierAllows(t *testing.T) {
	b := must.Value(os.ReadFile("../../config/default/tiers.yaml"))(t)
	tiers := must.Value(quota.Load(b))(t)
	pod := defaultLimits.Memory().Value()
	for name, tier := range tiers {
		small := int64(tier.ConcurrentCalls) * budget.Free * (budget.SentFactor + budget.AnswerFactor)
		if budget.Base+small > budget.Reserve {
			t.Errorf("tier %s: small messages of %d calls take %d bytes, more than is kept for them", name, tier.ConcurrentCalls, small)
		}
		large := tier.Body()*budget.SentFactor + rpc.MaxAnswer*budget.AnswerFactor
		if budget.Reserve+large > pod {
			t.Errorf("tier %s: one call with the largest request and answer takes %d bytes, and the pod has %d", name, budget.Reserve+large, pod)
		}
		if request := tier.Body() * budget.RequestFactor; budget.Reserve+request > pod {
			t.Errorf("tier %s: the largest request takes %d bytes, and the pod has %d", name, budget.Reserve+request, pod)
		}
	}
}
