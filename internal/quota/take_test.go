// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"math/rand/v2"
	"testing"
	"time"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// step is a request of n at so long after noon, and what is expected of it.
type step struct {
	at      time.Duration
	n       int
	refused Limit
	retry   time.Duration
}

// loose has one tight limit in each test.
func loose(change func(*Tier)) Tier {
	t := Tier{PerMinute: 60_000, PerHour: 1_000_000, PerDay: 1_000_000, Burst: 60_000, ConcurrentCalls: 1, Streams: 1}
	change(&t)
	return t
}

func TestTake(t *testing.T) {
	tests := map[string]struct {
		tier  Tier
		steps []step
	}{
		"the burst passes at once, then one in each interval": {
			Tier{PerMinute: 30, PerHour: 300, PerDay: 3000, Burst: 3},
			[]step{
				{0, 1, None, 0},
				{0, 1, None, 0},
				{0, 1, None, 0},
				{0, 1, Burst, 2 * time.Second},
				{time.Second, 1, Burst, time.Second},
				{2 * time.Second, 1, None, 0},
				{2 * time.Second, 1, Burst, 2 * time.Second},
			},
		},
		"a minute begins with its first request": {
			loose(func(t *Tier) { t.PerMinute = 2 }),
			[]step{
				{45 * time.Second, 1, None, 0},
				{50 * time.Second, 1, None, 0},
				{70 * time.Second, 1, Minute, 35 * time.Second},
				{105 * time.Second, 1, None, 0},
			},
		},
		"what is refused costs nothing": {
			loose(func(t *Tier) { t.PerHour = 2 }),
			[]step{
				{0, 1, None, 0},
				{0, 2, Hour, time.Hour},
				{0, 2, Hour, time.Hour},
				{0, 1, None, 0},
				{30 * time.Minute, 1, Hour, 30 * time.Minute},
			},
		},
		"of several limits the one that lasts longest is told": {
			Tier{PerMinute: 1, PerHour: 1, PerDay: 1, Burst: 1},
			[]step{{0, 1, None, 0}, {0, 1, Day, 24 * time.Hour}, {23 * time.Hour, 1, Day, time.Hour}},
		},
		"the day begins anew after a day": {
			loose(func(t *Tier) { t.PerDay = 1 }),
			[]step{{0, 1, None, 0}, {24*time.Hour - 1000, 1, Day, time.Microsecond}, {24 * time.Hour, 1, None, 0}},
		},
		"a batch larger than the burst passes when the burst is whole, and is owed": {
			Tier{PerMinute: 60, PerHour: 300, PerDay: 3000, Burst: 3},
			[]step{
				{0, 5, None, 0},
				{0, 1, Burst, 3 * time.Second},
				{3 * time.Second, 1, None, 0},
				{3 * time.Second, 5, Burst, 3 * time.Second},
				{6 * time.Second, 5, None, 0},
			},
		},
		"nothing costs nothing, whatever is used": {
			Tier{PerMinute: 1, PerHour: 1, PerDay: 1, Burst: 1},
			[]step{{0, 1, None, 0}, {0, 0, None, 0}, {0, 1, Day, 24 * time.Hour}},
		},
		"a clock that goes back makes nothing last longer than its span": {
			loose(func(t *Tier) { t.PerMinute, t.Burst = 1, 1 }),
			[]step{{10 * time.Hour, 1, None, 0}, {0, 1, Burst, 2 * time.Minute}, {time.Minute, 1, Burst, time.Minute}, {2 * time.Minute, 1, None, 0}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var s State
			for i, step := range test.steps {
				var v Verdict
				s, v = Take(s, test.tier, noon.Add(step.at), step.n)
				if v.Refused != step.refused || v.RetryAfter != step.retry {
					t.Errorf("step %d: refused by %v for %v, want %v for %v", i, v.Refused, v.RetryAfter, step.refused, step.retry)
				}
			}
		})
	}
}

// Whatever is asked for when: no window gives more than its limit, and when
// Take says that something passes later, it does.
func TestTakeKeepsItsLimitsAndItsWord(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		tier := Tier{PerMinute: 1 + r.Int32N(50), PerHour: 1 + r.Int32N(400), PerDay: 1 + r.Int32N(2000), Burst: 1 + r.Int32N(20)}
		var s State
		var used [3]map[int64]int
		for i := range used {
			used[i] = map[int64]int{}
		}
		now := noon
		for range 300 {
			now = now.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
			n := 1 + r.IntN(3)
			before := s
			var v Verdict
			s, v = Take(s, tier, now, n)
			if !v.Allowed() {
				if _, later := Take(before, tier, now.Add(v.RetryAfter), n); !later.Allowed() && tier.Fits(n) {
					t.Fatalf("seed %d: %d refused by %v, and again after %v by %v", seed, n, v.Refused, v.RetryAfter, later.Refused)
				}
				if _, sooner := Take(before, tier, now.Add(v.RetryAfter-time.Microsecond), n); sooner.Allowed() {
					t.Fatalf("seed %d: %d could have passed before %v", seed, n, v.RetryAfter)
				}
				continue
			}
			for i, limit := range tier.windows() {
				start := s.Windows[i].Start
				if used[i][start] += n; int64(used[i][start]) > limit {
					t.Fatalf("seed %d: %d in the %v of %d, limit %d", seed, used[i][start], Minute+Limit(i), start, limit)
				}
			}
		}
	}
}

func TestAUserWhoAsksForTenTimesHisQuotaGetsIt(t *testing.T) {
	tier := Defaults()["pro"]
	var s State
	passed := 0
	// Two hours, at 20 requests a second.
	for i := range 2 * 3600 * 20 {
		var v Verdict
		if s, v = Take(s, tier, noon.Add(time.Duration(i)*time.Second/20), 1); v.Allowed() {
			passed++
		}
	}
	if want := 2 * int(tier.PerHour); passed != want {
		t.Errorf("%d passed in two hours, want %d", passed, want)
	}
}

func TestFits(t *testing.T) {
	tier := Tier{PerMinute: 30, PerHour: 20, PerDay: 40, Burst: 5}
	if !tier.Fits(20) || tier.Fits(21) {
		t.Error("a batch fits that is not larger than the smallest limit, whatever the burst")
	}
}
