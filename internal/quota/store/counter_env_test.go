//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/quota/counter"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/redisserver"
)

// TestTheCounterDecidesAsTheScriptDoes asks both the same, one after another, of
// users with many calls. The counter's clock is that of the script's answers.
func TestTheCounterDecidesAsTheScriptDoes(t *testing.T) {
	r := startReplicas(t, Redis{URL: redisserver.Start(t).URL()}, 1)[0]
	clock := clocktest.New(0)
	counts := counter.Open("", clock, slog.New(slog.DiscardHandler))
	scripted, counted := r.link.memory.Load().marker, counts.Beat("a").Marker
	random := rand.New(rand.NewPCG(3, 4))
	slots := []quota.Limit{quota.None, quota.Calls, quota.Streams}
	refusals := map[quota.Limit]int{}
	for i := range 8000 {
		// One of two replicas, of which the script knows the other by its name.
		replica := []string{"a", "b"}[random.IntN(2)]
		r.redis().replica = replica
		q := counter.Inquiry{
			Replica: replica, Bridge: types.UID(fmt.Sprint("user-", i/20)), Marker: scripted,
			Tier: quota.Tier{
				PerMinute: 1 + random.Int32N(60), PerHour: 1 + random.Int32N(120), PerDay: 1 + random.Int32N(240), Burst: 1 + random.Int32N(30),
				ConcurrentCalls: 1 + random.Int32N(4), Streams: 1 + random.Int32N(4),
			},
			Want:     quota.Want{Requests: random.IntN(4), Slot: slots[random.IntN(3)]},
			InFlight: counter.Slots{1 + random.IntN(2), 1 + random.IntN(2)},
		}
		if q.Alone = random.IntN(4) == 0; q.Alone {
			q.Seen, q.Debt = randomState(random), quota.Debt{Windows: randomState(random).Windows}
		}
		if random.IntN(8) == 0 {
			told := map[types.UID]counter.Slots{q.Bridge: {random.IntN(2), random.IntN(2)}}
			must.Succeed(t, r.link.tell(t.Context(), told))
			counts.Tell(replica, told)
		}
		want := must.Value(r.link.take(t.Context(), q))(t)
		clock.Advance(want.Now.Sub(clock.Now()))
		q.Marker = counted
		got, err := counts.Take(q)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%d: %+v: %v (-script +counter):\n%s", i, q, err, diff)
		}
		refusals[got.Refused]++
	}
	for _, limit := range []quota.Limit{quota.None, quota.Minute, quota.Hour, quota.Day, quota.Burst, quota.Calls, quota.Streams} {
		if refusals[limit] < 50 {
			t.Errorf("only %d of the cases ended with %v", refusals[limit], limit)
		}
	}
}
