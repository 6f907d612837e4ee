// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"
	"time"
)

func TestFields(t *testing.T) {
	tier := Defaults()["free"]
	tier.Burst = 10
	if got, want := tier.PolicyField(), `"minute";q=30;w=60, "hour";q=300;w=3600, "day";q=3000;w=86400, "burst";q=10;w=20, "calls";q=4;qu="concurrent-requests", "streams";q=10;qu="concurrent-requests"`; got != want {
		t.Errorf("policy\n%s, want\n%s", got, want)
	}
	var s State
	for _, test := range []struct {
		name string
		at   time.Duration
		n    int
		want string
	}{
		{"nothing used", 0, 0, `"minute";r=30, "hour";r=300, "day";r=3000, "burst";r=10`},
		{"one", 0, 1, `"minute";r=29;t=60, "hour";r=299;t=3600, "day";r=2999;t=86400, "burst";r=9;t=2`},
		{"times are rounded up", 500 * time.Millisecond, 0, `"minute";r=29;t=60, "hour";r=299;t=3600, "day";r=2999;t=86400, "burst";r=9;t=2`},
		{"the burst is whole again", 2 * time.Second, 0, `"minute";r=29;t=58, "hour";r=299;t=3598, "day";r=2999;t=86398, "burst";r=10`},
		{"a batch that owes two", 2 * time.Second, 12, `"minute";r=17;t=58, "hour";r=287;t=3598, "day";r=2987;t=86398, "burst";r=0;t=4`},
	} {
		var v Verdict
		s, v = Take(s, tier, noon.Add(test.at), test.n)
		if got := v.Left.Field(); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
	smaller := tier
	smaller.PerMinute = 5
	if _, v := Take(s, smaller, noon.Add(2*time.Second), 1); v.Left[0].Remaining != 0 {
		t.Errorf("a tier that became smaller than what is used leaves %d", v.Left[0].Remaining)
	}
}

func TestWhatIsLeftOfALimit(t *testing.T) {
	tier := Defaults()["free"]
	tier.Burst = 10
	_, v := Take(State{}, tier, noon, 1)
	for limit, want := range map[Limit][3]int64{
		None: {0, 0, 0}, Minute: {30, 29, 60}, Hour: {300, 299, 3600}, Day: {3000, 2999, 86400}, Burst: {10, 9, 2},
		Calls: {4, 0, 0}, Streams: {10, 0, 0},
	} {
		most, remaining, reset := v.Left.Of(limit, tier)
		if got := [3]int64{most, remaining, int64(reset.Seconds())}; got != want {
			t.Errorf("%v: %v, want %v", limit, got, want)
		}
	}
}
