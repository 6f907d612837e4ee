// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// chain makes the records of one writer.
type chain struct{ head audit.Head }

func newChain(writer string) *chain { return &chain{audit.NewChain(writer)} }

// entry is what the tests write.
func entry(user string, n int) audit.Entry {
	return audit.Entry{
		ID: fmt.Sprintf("%s-%d", user, n), Time: start.Add(time.Duration(n) * time.Millisecond), UserID: user,
		Principal: audit.Principal{Kind: audit.KindUserKey, ID: "key"}, ReportedBy: audit.Bridge,
		Call: audit.Call{Server: "server " + user, Tool: fmt.Sprintf("tool_%d", n%3), Method: methods.CallTool, Status: audit.Statuses()[n&1], LatencyMS: int64(n), ParamKeys: []string{"a"}},
	}
}

func (c *chain) next(e audit.Entry) audit.Record {
	r := audit.Record{Prev: c.head.Hash, Entry: e.Bounded()}
	_ = c.head.Append(nil, e)
	r.Head = c.head
	return r
}

func (c *chain) records(user string, ns ...int) []audit.Record {
	var records []audit.Record
	for _, n := range ns {
		records = append(records, c.next(entry(user, n)))
	}
	return records
}

func add(t *testing.T, s *Store, records ...audit.Record) {
	t.Helper()
	must.Succeed(t, s.add(t.Context(), records))
}

// ids returns those of all pages, and how many pages there were.
func ids(t *testing.T, s *Store, q audit.Query) (all []string, pages int) {
	t.Helper()
	for {
		page := must.Value(s.Search(t.Context(), q))(t)
		pages++
		for _, e := range page.Entries {
			all = append(all, e.ID)
		}
		if page.Next == nil {
			return all, pages
		}
		if len(page.Entries) != q.Limit {
			t.Fatalf("a page of %d entries, and not of %d, has a next one", len(page.Entries), q.Limit)
		}
		q.Before = page.Next
	}
}

func TestAnEntryComesBackAsItWasWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		full := entry("alice", 7)
		full.Principal = audit.Principal{Kind: audit.KindUserKey, ID: "id", Issuer: "https://issuer.example", Role: "auditor"}
		full.Call = audit.Call{
			Server: "My server", Tool: "a/b", Method: "tools/call", Action: "batch", ParamKeys: []string{"a", "b.c"}, Status: audit.ToolError,
			ErrorType: "-32602", LatencyMS: 12, BytesIn: 34, BytesOut: 56, Cached: true, Retries: 2, ProtocolVersion: "2026-07-28",
		}
		full.SessionHash, full.SourceIPHash, full.UserAgent, full.TraceID, full.RequestID = "s", "i", `agent "1"`, "t", "r"
		add(t, s, newChain("w").next(full))
		page := must.Value(s.Search(t.Context(), audit.Query{Limit: 10}))(t)
		if diff := cmp.Diff([]audit.Entry{full.Bounded()}, page.Entries); diff != "" {
			t.Error(diff)
		}
		if page.Shared != s.db.Shared || page.Next != nil {
			t.Errorf("page = %+v", page)
		}
	})
}

func TestWhatIsAddedTwiceIsThereOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		records := newChain("w").records("alice", 1, 2, 3)
		add(t, s, records...)
		add(t, s, records[1:]...)
		if got, _ := ids(t, s, audit.Query{Limit: 10}); !slices.Equal(got, []string{"alice-3", "alice-2", "alice-1"}) {
			t.Error(got)
		}
		if seq, err := s.progress(t.Context(), "w"); seq != 3 || err != nil {
			t.Errorf("progress = %d, %v", seq, err)
		}
		add(t, s, records[0])
		if seq, err := s.progress(t.Context(), "w"); seq != 3 || err != nil {
			t.Errorf("progress after an old record = %d, %v", seq, err)
		}
		if seq, err := s.progress(t.Context(), "other"); seq != 0 || err != nil {
			t.Errorf("progress of nobody = %d, %v", seq, err)
		}
		torn := audit.Record{Head: audit.Head{Writer: "w", Seq: 9}, Torn: &audit.Torn{Bytes: 1}}
		add(t, s, torn)
		if seq, _ := s.progress(t.Context(), "w"); seq != 9 {
			t.Errorf("progress after the mark of a torn line = %d", seq)
		}
	})
}

func TestAnIndexIsThereAfterARestart(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		first := open()
		add(t, first, newChain("w").records("alice", 1)...)
		must.Succeed(t, first.Close())
		again := open()
		if got, _ := ids(t, again, audit.Query{Limit: 10}); !slices.Equal(got, []string{"alice-1"}) {
			t.Error(got)
		}
		must.Value(again.db.ExecContext(t.Context(), `INSERT INTO audit_schema (version) VALUES (2)`))(t)
		if _, err := open().Search(t.Context(), audit.Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("the tables of a later release are used: %v", err)
		}
	})
}

func TestQueries(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		add(t, s, newChain("w").records("alice", 0, 1, 2, 3)...)
		add(t, s, newChain("v").records("bob", 1, 2)...)
		at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
		for name, test := range map[string]struct {
			query audit.Query
			want  []string
		}{
			"all, of one time by the line":   {audit.Query{}, []string{"alice-3", "alice-2", "bob-2", "alice-1", "bob-1", "alice-0"}},
			"of a user":                      {audit.Query{UserID: "bob"}, []string{"bob-2", "bob-1"}},
			"of a server":                    {audit.Query{Server: "server bob"}, []string{"bob-2", "bob-1"}},
			"of a tool":                      {audit.Query{Tool: "tool_0"}, []string{"alice-3", "alice-0"}},
			"of a status":                    {audit.Query{Status: audit.Statuses()[0]}, []string{"alice-2", "bob-2", "alice-0"}},
			"from a time on":                 {audit.Query{From: at(2)}, []string{"alice-3", "alice-2", "bob-2"}},
			"before a time":                  {audit.Query{To: at(1)}, []string{"alice-0"}},
			"of a user in a time":            {audit.Query{UserID: "alice", From: at(1), To: at(3)}, []string{"alice-2", "alice-1"}},
			"of what nobody has":             {audit.Query{UserID: "alice", Server: "server bob"}, nil},
			"of what would be a condition":   {audit.Query{UserID: "' OR 1=1 --"}, nil},
			"of what would be a placeholder": {audit.Query{UserID: "?", Tool: "$1"}, nil},
		} {
			for _, limit := range []int{1, 2, 100} {
				test.query.Limit = limit
				if got, _ := ids(t, s, test.query); !slices.Equal(got, test.want) {
					t.Errorf("%s, %d a page: %v, want %v", name, limit, got, test.want)
				}
			}
		}
	})
}

func TestViewsOfAdministratorsAreLeftOut(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s, c := open(), newChain("w")
		for i, method := range []string{methods.CallTool, "admin/users.list", "admin/access.set", "admin/audit.query", "user/keys.list", "admin/profiles.get", "admin/keys.create"} {
			e := entry("alice", i)
			e.Method = method
			add(t, s, c.next(e))
		}
		if got, _ := ids(t, s, audit.Query{NoViews: true, Limit: 2}); !slices.Equal(got, []string{"alice-6", "alice-4", "alice-2", "alice-0"}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestPagesNeitherSkipNorRepeat adds entries of every age between the pages:
// what was there at the first page comes exactly once.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		c, other := newChain("w"), newChain("v")
		for n := range 40 {
			add(t, s, c.next(entry("alice", n/4))) // Of four each the time is the same.
		}
		q := audit.Query{Limit: 3}
		seen := map[uint64]int{}
		for pages := 0; ; pages++ {
			page := must.Value(s.Search(t.Context(), q))(t)
			for _, e := range page.Entries {
				if e.UserID == "alice" {
					seen[uint64(e.LatencyMS)]++
				}
			}
			if page.Next == nil {
				break
			}
			if pages > 100 {
				t.Fatal("there is no last page")
			}
			// Newer, of the same time, and older, as a slow replica adds them.
			add(t, s, other.records("bob", 100+pages, int(page.Next.TimeMS-start.UnixMilli()), -1-pages)...)
			q.Before = page.Next
		}
		for n := range uint64(10) {
			if seen[n] != 4 {
				t.Errorf("of the four entries of time %d, %d were seen", n, seen[n])
			}
		}
	})
}

func TestEntriesAreKeptAsLongAsTheirUsersTierSays(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		day := 24 * time.Hour
		for i, user := range []string{"", "alice", "bob"} {
			c := newChain("w" + fmt.Sprint(i))
			for days := range 10 {
				e := entry(user, days)
				e.Time = start.Add(-time.Duration(days)*day - time.Hour)
				add(t, s, c.next(e))
			}
		}
		keep := map[string]time.Duration{"": 9 * day, "alice": 3 * day, "bob": 30 * day}
		x := New(s, Config{Keep: func(user string) time.Duration { return keep[user] }, Log: slog.New(slog.DiscardHandler)})
		x.now = func() time.Time { return start }
		removed, err := x.purge(t.Context())
		if err != nil || removed != 7+1 {
			t.Errorf("removed %d, %v", removed, err)
		}
		for user, want := range map[string]int{"alice": 3, "bob": 10} {
			if got, _ := ids(t, s, audit.Query{UserID: user, Limit: 100}); len(got) != want {
				t.Errorf("%s has %v, want %d", user, got, want)
			}
		}
		if all, _ := ids(t, s, audit.Query{Limit: 100}); len(all) != 9+3+10 {
			t.Errorf("%d entries are left", len(all))
		}
	})
}

// TestReplicasRemoveOldEntriesOneAfterTheOther has one replica in the middle of
// it, and another that begins.
func TestReplicasRemoveOldEntriesOneAfterTheOther(t *testing.T) {
	database := cluster.Database(t)
	one, other := openedIn(t, OpenPostgres, database), openedIn(t, OpenPostgres, database)
	c := newChain("w")
	add(t, one, c.records("alice", 1, 2, 3)...)
	tx := must.Value(one.db.BeginTx(t.Context(), nil))(t)
	defer tx.Rollback() //nolint:errcheck // It was committed, or the test has failed.
	must.Succeed(t, one.db.Exclude(t.Context(), tx, purgeLock))
	type outcome struct {
		removed int64
		err     error
	}
	ended := make(chan outcome, 1)
	go func() {
		removed, err := other.purge(t.Context(), map[string]time.Time{"alice": start.Add(time.Hour)})
		ended <- outcome{removed, err}
	}()
	wait.Until(t, "the other purge waits", func() bool {
		var waiting int
		err := one.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-ended:
			t.Fatalf("it did not wait: removed %d, %v", got.removed, got.err)
		default:
		}
		return waiting == 1
	})
	must.Succeed(t, tx.Commit())
	if got := <-ended; got.removed != 3 || got.err != nil {
		t.Errorf("removed %d, %v", got.removed, got.err)
	}
}

// TestAPageKnowsWhichLinesAreMissing takes away lines of two chains.
func TestAPageKnowsWhichLinesAreMissing(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		one, other := newChain("one"), newChain("other")
		records := one.records("alice", 0, 1, 2)
		torn := one.next(audit.Entry{})
		torn.Torn = &audit.Torn{Bytes: 1}
		records = append(append(records, torn), one.records("bob", 3, 4)...)
		add(t, s, append(records, other.records("alice", 5, 6)...)...)
		far := newChain("far")
		far.head.Seq = 1
		first := far.next(entry("carol", 7))
		far.head.Seq = audit.MaxLines + 1
		add(t, s, first, far.next(entry("carol", 8)))
		for name, tt := range map[string]struct {
			q    audit.Query
			want *audit.Lines
		}{
			"a page with the mark of a torn line":   {audit.Query{To: start.Add(7 * time.Millisecond), Limit: 10}, &audit.Lines{Count: 8, Missing: 1}},
			"the lines of others are not missing":   {audit.Query{UserID: "bob", Limit: 10}, &audit.Lines{Count: 2}},
			"the last page of some":                 {audit.Query{UserID: "alice", To: start.Add(3 * time.Millisecond), Limit: 2}, &audit.Lines{Count: 2}},
			"nothing":                               {audit.Query{UserID: "dave", Limit: 10}, &audit.Lines{}},
			"lines that are too many to be counted": {audit.Query{UserID: "carol", Limit: 10}, nil},
		} {
			tt.q.Lines = true
			page, err := s.Search(t.Context(), tt.q)
			if diff := cmp.Diff(tt.want, page.Lines); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		if err := s.db.QueryRowContext(t.Context(), `DELETE FROM audit_entries WHERE writer = 'one' AND seq = 2 RETURNING seq`).Scan(new(int64)); err != nil {
			t.Fatal(err)
		}
		page, err := s.Search(t.Context(), audit.Query{UserID: "alice", Limit: 10, Lines: true})
		if want := (&audit.Lines{Count: 5, Missing: 1}); err != nil || cmp.Diff(want, page.Lines) != "" {
			t.Errorf("an entry that was removed: %+v, %v", page.Lines, err)
		}
		if page, err := s.Search(t.Context(), audit.Query{Limit: 10}); err != nil || page.Lines != nil {
			t.Errorf("not asked for: %+v, %v", page.Lines, err)
		}
	})
}
