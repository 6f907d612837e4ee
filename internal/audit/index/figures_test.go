// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// called returns the entry of a call that ended minutes after start.
func called(minutes int, user, server, tool string, status audit.Status, ms int64) audit.Entry {
	return audit.Entry{
		ID: "id", Time: start.Add(time.Duration(minutes) * time.Minute), UserID: user,
		Principal: audit.Principal{Kind: audit.KindUserKey, ID: "key"}, ReportedBy: audit.Bridge,
		Call: audit.Call{Server: server, Tool: tool, Method: methods.CallTool, Status: status, LatencyMS: ms},
	}
}

func addEntries(t *testing.T, s *Store, entries ...audit.Entry) {
	t.Helper()
	c := newChain("w")
	var records []audit.Record
	for _, e := range entries {
		records = append(records, c.next(e))
	}
	add(t, s, records...)
}

func figures(t *testing.T, s *Store, q audit.FiguresQuery) audit.Figures {
	t.Helper()
	return must.Value(s.Figures(t.Context(), q))(t)
}

func calls(p50, p95, p99 int64, by map[audit.Status]int64) audit.Calls {
	return audit.Calls{ByStatus: by, Latency: audit.Latency{P50: p50, P95: p95, P99: p99}}
}

func TestFigures(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		act := called(20, "alice", "one", "a", audit.Success, 1)
		act.Method = audit.AdminPrefix + "keys.list"
		addEntries(t, s,
			called(-1, "alice", "one", "a", audit.Success, 1), // Before the time.
			called(0, "alice", "one", "a", audit.Success, 10),
			called(1, "alice", "one", "b", audit.ToolError, 20),
			called(2, "bob", "one", "a", audit.RateLimited, 0),
			called(3, "bob", "two", "a", audit.Denied, 0),
			called(59, "bob", "", "made up", audit.ProtocolError, 5),
			act, // No call.
			called(150, "alice", "one", "a", audit.Timeout, 30_999),
			called(151, "alice", "one", "a", audit.Success, 1_299),
			called(180, "alice", "one", "a", audit.Success, 1), // Behind it.
		)
		got := figures(t, s, audit.FiguresQuery{From: start, To: start.Add(3 * time.Hour), Step: time.Hour, Top: 2})
		want := audit.Figures{
			Shared: s.db.Shared,
			Total: calls(20, 30_000, 30_000, map[audit.Status]int64{
				audit.Success: 2, audit.ToolError: 1, audit.RateLimited: 1, audit.Denied: 1, audit.ProtocolError: 1, audit.Timeout: 1,
			}),
			Steps: []audit.Step{
				{Start: start, Calls: calls(10, 20, 20, map[audit.Status]int64{
					audit.Success: 1, audit.ToolError: 1, audit.RateLimited: 1, audit.Denied: 1, audit.ProtocolError: 1,
				}), Users: 2},
				{Start: start.Add(time.Hour)},
				{Start: start.Add(2 * time.Hour), Calls: calls(1_200, 30_000, 30_000, map[audit.Status]int64{audit.Success: 1, audit.Timeout: 1}), Users: 1},
			},
			Tools: []audit.ToolCalls{{Server: "one", Tool: "a", Tally: audit.Tally{Calls: 4, Errors: 1}}, {Server: "one", Tool: "b", Tally: audit.Tally{Calls: 1, Errors: 1}}},
			Uses: []audit.Use{
				{UserID: "alice", Server: "one", Tally: audit.Tally{Calls: 4, Errors: 2}},
				{UserID: "bob", Tally: audit.Tally{Calls: 1, Errors: 1}},
				{UserID: "bob", Server: "one", Tally: audit.Tally{Calls: 1}},
				{UserID: "bob", Server: "two", Tally: audit.Tally{Calls: 1}},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFiguresOfDays(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		// start is at noon.
		addEntries(t, s, called(0, "a", "s", "t", audit.Success, 1), called(11*60+59, "a", "s", "t", audit.Success, 1), called(12*60, "a", "s", "t", audit.Success, 1))
		got := figures(t, s, audit.FiguresQuery{From: start.Add(-time.Hour), To: start.Add(36 * time.Hour), Step: 24 * time.Hour, Top: 1})
		midnight := start.Truncate(24 * time.Hour)
		want := []audit.Step{
			{Start: midnight, Calls: calls(1, 1, 1, map[audit.Status]int64{audit.Success: 2}), Users: 1},
			{Start: midnight.Add(24 * time.Hour), Calls: calls(1, 1, 1, map[audit.Status]int64{audit.Success: 1}), Users: 1},
		}
		if diff := cmp.Diff(want, got.Steps); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFiguresOfNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		got := figures(t, s, audit.FiguresQuery{From: start, To: start.Add(time.Minute), Step: time.Hour, Top: 10})
		if got.Total.Count() != 0 || len(got.Steps) != 1 || len(got.Tools) != 0 || len(got.Uses) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestLatencyIsToTwoDigits has a call of each length by itself.
func TestLatencyIsToTwoDigits(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		want := map[int64]int64{
			0: 0, 1: 1, 99: 99, 100: 100, 109: 100, 999: 990, 1000: 1000, 1099: 1000, 9999: 9900,
			10_999: 10_000, 99_999: 99_000, 109_999: 100_000, 999_999: 990_000, 1_000_000: 1_000_000, 1 << 62: 1_000_000,
		}
		var entries []audit.Entry
		minutes := map[int64]int{}
		for ms := range want {
			minutes[ms] = len(entries) * 60
			entries = append(entries, called(minutes[ms], "a", "s", "t", audit.Success, ms))
		}
		addEntries(t, s, entries...)
		got := figures(t, s, audit.FiguresQuery{From: start, To: start.Add(time.Duration(len(want)) * time.Hour), Step: time.Hour, Top: 1})
		for ms, short := range want {
			if l := got.Steps[minutes[ms]/60].Latency; l.P50 != short || l.P99 != short {
				t.Errorf("%d ms is shown as %+v, want %d", ms, l, short)
			}
		}
	})
}

func TestUsesAreOfATime(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		addEntries(t, s, called(0, "a", "s", "t", audit.Success, 1), called(1, "a", "s", "u", audit.Success, 1), called(1, "b", "s", "t", audit.Success, 1), called(2, "a", "s", "t", audit.Success, 1))
		got, err := s.Uses(t.Context(), start.Add(time.Minute), start.Add(2*time.Minute))
		want := []audit.Use{{UserID: "a", Server: "s", Tally: audit.Tally{Calls: 1}}, {UserID: "b", Server: "s", Tally: audit.Tally{Calls: 1}}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// TestFiguresAreCountedInAnIndexAlone asks the databases how they would count:
// what reads the entries themselves takes many times as long.
func TestFiguresAreCountedInAnIndexAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		c := newChain("w")
		for n := range 4 {
			var ns []int
			for i := range batch {
				ns = append(ns, n*batch+i)
			}
			add(t, s, c.records("alice", ns...)...)
		}
		explain := "EXPLAIN QUERY PLAN "
		if s.db.Shared {
			explain = "EXPLAIN "
			must.Value(s.db.ExecContext(t.Context(), "VACUUM ANALYZE audit_entries"))(t)
		}
		from, to := start.UnixMilli(), start.UnixMilli()+1000
		for statement, args := range map[string][]any{ofAll.steps: {3_600_000, from, to}, ofAll.users: {3_600_000, from, to}, ofAll.tools: {from, to, 10}, ofAll.uses: {from, to, 10}} {
			plan := planOf(t, s, explain+statement, args)
			if !strings.Contains(plan, "COVERING INDEX audit_entries_of_time") && !strings.Contains(plan, "Index Only Scan using audit_entries_of_time") {
				t.Errorf("%s\nis counted by\n%s", statement, plan)
			}
		}
	})
}

// TestFiguresOfOneUserAreOfNobodyElse counts the same calls for all users and for one.
func TestFiguresOfOneUserAreOfNobodyElse(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		var others []audit.Entry
		for n := range 500 {
			others = append(others, called(n%60, fmt.Sprint("user-", n), "secret-server", "secret-tool", audit.ToolError, 900))
		}
		addEntries(t, s, append(others,
			called(1, "alice", "one", "a", audit.Success, 10), called(2, "alice", "one", "a", audit.Timeout, 20), called(70, "alice", "two", "b", audit.Success, 10),
			called(200, "alice", "late", "c", audit.Success, 10),
		)...)
		q := audit.FiguresQuery{UserID: "alice", From: start, To: start.Add(2 * time.Hour), Step: time.Hour, Top: 10}
		want := audit.Figures{
			Shared: s.db.Shared, Total: calls(10, 20, 20, map[audit.Status]int64{audit.Success: 2, audit.Timeout: 1}),
			Steps: []audit.Step{
				{Start: start, Calls: calls(10, 20, 20, map[audit.Status]int64{audit.Success: 1, audit.Timeout: 1}), Users: 1},
				{Start: start.Add(time.Hour), Calls: calls(10, 10, 10, map[audit.Status]int64{audit.Success: 1}), Users: 1},
			},
			Tools: []audit.ToolCalls{{Server: "one", Tool: "a", Tally: audit.Tally{Calls: 2, Errors: 1}}, {Server: "two", Tool: "b", Tally: audit.Tally{Calls: 1}}},
			Uses:  []audit.Use{{UserID: "alice", Server: "one", Tally: audit.Tally{Calls: 2, Errors: 1}}, {UserID: "alice", Server: "two", Tally: audit.Tally{Calls: 1}}},
		}
		if diff := cmp.Diff(want, figures(t, s, q)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if s.db.Shared {
			return
		}
		plan := planOf(t, s, "EXPLAIN QUERY PLAN "+ofOneUser.steps, []any{3_600_000, start.UnixMilli(), start.UnixMilli() + 1000, "alice"})
		if !strings.Contains(plan, "audit_entries_by_user") {
			t.Errorf("the calls of one user are counted by\n%s", plan)
		}
	})
}

func planOf(t *testing.T, s *Store, statement string, args []any) string {
	t.Helper()
	rows := must.Value(s.db.QueryContext(t.Context(), s.db.Bind(statement), args...))(t)
	defer rows.Close()
	columns, _ := rows.Columns()
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		must.Succeed(t, rows.Scan(into...))
		fmt.Fprintln(&plan, values...)
	}
	return plan.String()
}

func TestCountingEndsWithItsContext(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		addEntries(t, s, called(0, "a", "s", "t", audit.Success, 1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Figures(ctx, audit.FiguresQuery{From: start, To: start.Add(time.Hour), Step: time.Hour, Top: 1}); err == nil {
			t.Error("a question that nobody waits for is answered")
		}
	})
}
