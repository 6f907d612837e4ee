// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestLatencyIsByTheNearestRank(t *testing.T) {
	hundred := Histogram{}
	for ms := range int64(100) {
		hundred[ms+1] = 1
	}
	for name, test := range map[string]struct {
		of   Histogram
		want Latency
	}{
		"of nothing":              {Histogram{}, Latency{}},
		"of nil":                  {nil, Latency{}},
		"of one call":             {Histogram{7: 1}, Latency{7, 7, 7}},
		"of two calls":            {Histogram{7: 1, 9: 1}, Latency{7, 9, 9}},
		"of calls of no time":     {Histogram{0: 5}, Latency{}},
		"of a hundred":            {hundred, Latency{50, 95, 99}},
		"of many and a slow one":  {Histogram{10: 99, 5000: 1}, Latency{10, 10, 10}},
		"of many and a few":       {Histogram{10: 98, 5000: 2}, Latency{10, 10, 5000}},
		"of a tenth that is slow": {Histogram{10: 900_000, 2000: 100_000}, Latency{10, 2000, 2000}},
	} {
		if got := test.of.Latency(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestHowCallsEnded(t *testing.T) {
	for name, test := range map[string]struct {
		by            map[Status]int64
		count, errors int64
		rate          float64
	}{
		"nothing":                   {nil, 0, 0, 0},
		"no errors":                 {map[Status]int64{Success: 3, InputRequired: 1, Cancelled: 1}, 5, 0, 0},
		"errors of each kind":       {map[Status]int64{Success: 6, ToolError: 1, ProtocolError: 2, UpstreamError: 3, Timeout: 4}, 16, 10, 10.0 / 16},
		"refused ones do not count": {map[Status]int64{Success: 1, ToolError: 1, RateLimited: 100, Denied: 50}, 152, 1, 0.5},
		"all refused":               {map[Status]int64{RateLimited: 100}, 100, 0, 0},
	} {
		c := Calls{ByStatus: test.by}
		if c.Count() != test.count || c.Errors() != test.errors || c.ErrorRate() != test.rate {
			t.Errorf("%s: %d calls, %d errors, %v", name, c.Count(), c.Errors(), c.ErrorRate())
		}
	}
	for _, s := range Statuses() {
		if s.Failed() && s.Refused() {
			t.Errorf("%s is refused and failed", s)
		}
	}
}

func TestTopUsersAndServers(t *testing.T) {
	use := func(user, server string, calls, errors int64) Use { return Use{user, server, Tally{calls, errors}} }
	uses := []Use{use("bob", "b", 5, 1), use("alice", "a", 3, 0), use("alice", "b", 2, 1), use("carol", "", 9, 9), use("", "a", 50, 0)}
	users := []UserCalls{{"carol", Tally{9, 9}}, {"alice", Tally{5, 1}}, {"bob", Tally{5, 1}}}
	servers := []ServerCalls{{"a", Tally{53, 0}}, {"b", Tally{7, 2}}}
	if diff := cmp.Diff(users, TopUsers(uses, 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(users[:2], TopUsers(uses, 2)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(servers, TopServers(uses, 10)); diff != "" {
		t.Error(diff)
	}
	if got := TopServers(nil, 10); got == nil || len(got) != 0 {
		t.Errorf("of nobody: %#v", got)
	}
}

func TestStarts(t *testing.T) {
	at := func(s string) time.Time {
		parsed := must.Value(time.Parse(time.RFC3339, s))(t)
		return parsed.UTC()
	}
	for name, test := range map[string]struct {
		from, to string
		step     time.Duration
		want     []time.Time
	}{
		"whole hours":         {"2026-03-01T01:00:00Z", "2026-03-01T03:00:00Z", time.Hour, []time.Time{at("2026-03-01T01:00:00Z"), at("2026-03-01T02:00:00Z")}},
		"parts of hours":      {"2026-03-01T01:30:00Z", "2026-03-01T02:00:01Z", time.Hour, []time.Time{at("2026-03-01T01:00:00Z"), at("2026-03-01T02:00:00Z")}},
		"part of an hour":     {"2026-03-01T01:30:00Z", "2026-03-01T01:31:00Z", time.Hour, []time.Time{at("2026-03-01T01:00:00Z")}},
		"days begin in UTC":   {"2026-03-01T01:00:00+02:00", "2026-03-01T12:00:00+02:00", 24 * time.Hour, []time.Time{at("2026-02-28T00:00:00Z"), at("2026-03-01T00:00:00Z")}},
		"a time of no length": {"2026-03-01T01:00:00Z", "2026-03-01T01:00:00Z", time.Hour, nil},
	} {
		if diff := cmp.Diff(test.want, FiguresQuery{From: at(test.from), To: at(test.to), Step: test.step}.Starts()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
