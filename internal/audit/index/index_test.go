// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// follow runs an index until the test ends, or end is called.
func follow(t *testing.T, s storage, files func() ([]string, error)) (x *Index, end func()) {
	t.Helper()
	x = New(s, Config{Files: files, Keep: func(string) time.Duration { return time.Hour }, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(end)
	return x, end
}

// await returns when the index has n entries and lags no more.
func await(t *testing.T, x *Index, n int) (got []string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "all entries", func(ctx context.Context) error {
		page, err := x.Search(ctx, audit.Query{Limit: audit.MaxPage})
		if err == nil && (len(page.Entries) != n || page.Lag != 0) {
			err = fmt.Errorf("the index has %d entries and lags by %v; want %d", len(page.Entries), page.Lag, n)
		}
		got = nil
		for _, e := range page.Entries {
			got = append(got, e.ID)
		}
		return err
	})
	return got
}

// write opens the trail and writes entries numbered from from to to.
func write(t *testing.T, path string, x *Index, from, to int) {
	t.Helper()
	config := sink.Config{Path: path, MaxBytes: 2000}
	if x != nil {
		config.Follow = x.Follow
	}
	s := must.Value(sink.Open(config, nil))(t)
	defer s.Close()
	for n := from; n < to; n++ {
		must.Succeed(t, s.Write(entry("alice", n)))
	}
}

func numbered(from, to int) (all []string) {
	for n := to - 1; n >= from; n-- {
		all = append(all, "alice-"+strconv.Itoa(n))
	}
	return all
}

func TestAnIndexFollowsWhatIsWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		x, _ := follow(t, open(), nil)
		c := newChain("w")
		for n := range 100 {
			x.Follow(c.records("alice", n))
		}
		if got := await(t, x, 100); !slices.Equal(got, numbered(0, 100)) {
			t.Error(got)
		}
	})
}

// TestAnIndexCatchesUp has a trail over several files, of which the index has
// seen nothing, some, or all before, a torn line, and lines that come while it
// catches up.
func TestAnIndexCatchesUp(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		path := filepath.Join(t.TempDir(), "trail")
		files := func() ([]string, error) { return sink.Files(path) }
		write(t, path, nil, 0, 20)
		if all, err := files(); len(all) < 3 || err != nil {
			t.Fatalf("the trail has the files %v, %v", all, err)
		}
		_, end := follow(t, open(), files)
		x, again := follow(t, open(), files)
		await(t, x, 20)
		end()
		again()

		f := must.Value(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
		_, _ = f.WriteString(`{"writer":"`)
		f.Close()
		write(t, path, nil, 20, 40)
		x, end = follow(t, open(), files)
		write(t, path, x, 40, 60)
		if got := await(t, x, 60); !slices.Equal(got, numbered(0, 60)) {
			t.Error(got)
		}
		end()
		x, _ = follow(t, open(), files)
		await(t, x, 60)
	})
}

func TestOnlyFilesWithNewLinesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail")
	write(t, path, nil, 0, 20)
	files := must.Value(sink.Files(path))(t)
	for i, f := range files {
		first, ok, err := firstRecord(f)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		for known, want := range map[uint64]int{0: 0, first.Seq - 1: i, first.Seq: i} {
			if first.Seq == 1 {
				want = 0
			}
			if got, err := firstLacking(files, func(string) (uint64, error) { return known, nil }); got != want || err != nil {
				t.Errorf("with %d lines known, file %d is the first, %v; want %d", known, got, err, want)
			}
		}
	}
	if got, err := firstLacking(append(slices.Clone(files), path+".gone"), func(string) (uint64, error) { return 1 << 40, nil }); got != len(files)-1 || err != nil {
		t.Errorf("with a file that is gone, file %d, %v", got, err)
	}
}

func TestLinesThatAreNoneArePassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail")
	write(t, path, nil, 0, 3)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	odd := lines[0] + "\n" + strings.Repeat("x", 200<<10) + "\n" + strings.Replace(lines[1], "alice", "bobby", 1) + lines[2] + lines[1][:50]
	must.Succeed(t, os.WriteFile(path, []byte(odd), 0o600))
	var got []string
	var known uint64
	err = (&trail{files: func() ([]string, error) { return []string{path}, nil }}).read(t.Context(),
		func(string) (uint64, error) { return known, nil },
		func(records []audit.Record) error {
			for _, r := range records {
				got = append(got, r.Entry.ID)
				known = r.Seq
			}
			return nil
		})
	if err != nil || !slices.Equal(got, []string{"alice-0", "alice-2"}) {
		t.Errorf("read %v, %v", got, err)
	}
}

// TestADatabaseThatIsAwayDelaysNobody stops the server under an index, writes
// more than fits the memory, and starts it again.
func TestADatabaseThatIsAwayDelaysNobody(t *testing.T) {
	store := openedIn(t, OpenPostgres, cluster.Database(t))
	path := filepath.Join(t.TempDir(), "trail")
	x, _ := follow(t, store, func() ([]string, error) { return sink.Files(path) })
	write(t, path, x, 0, 10)
	await(t, x, 10)
	cluster.Stop()
	const away = 600
	write(t, path, x, 10, away) // It returns: nothing waits for the database.
	x.mu.Lock()
	for range x.queue.len() / 2 {
		x.drop(x.queue.pop()) // As if there were more than is kept.
	}
	x.mu.Unlock()
	if x.lag() <= 0 {
		t.Error("an index without a database lags by nothing")
	}
	if _, err := x.Search(t.Context(), audit.Query{Limit: 1}); err == nil {
		t.Error("a search without a database has an answer")
	}
	cluster.Run(t)
	if got := await(t, x, away); !slices.Equal(got, numbered(0, away)) {
		t.Errorf("%d entries, not each once", len(got))
	}
}

func TestWithoutFilesTheOldestIsLost(t *testing.T) {
	x := New(new(Store), Config{Log: slog.New(slog.DiscardHandler)})
	c := newChain("w")
	registry := prometheus.NewRegistry()
	must.Succeed(t, x.Register(registry))
	for n := range maxQueued + 3 {
		x.Follow(c.records("alice", n))
	}
	if x.queue.len() != maxQueued || x.queue.at(0).Entry.ID != "alice-3" || x.behind {
		t.Errorf("%d are queued from %s, behind %v", x.queue.len(), x.queue.at(0).Entry.ID, x.behind)
	}
	values := gathered(t, registry)
	if values["lost_total"] != 3 || values["lag_seconds"] <= 0 || values["open"] != 0 || len(values) != 6 {
		t.Errorf("metrics are %v", values)
	}
}

// TestAGapIsReadFromTheFiles has the sink tell of a line before which another
// one is in the file alone, and of one before which a line is nowhere.
func TestAGapIsReadFromTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail")
	c := newChain("w")
	var lines []byte
	var records []audit.Record
	for n := range 5 {
		records = append(records, c.next(entry("alice", n)))
		if n == 3 {
			continue
		}
		head := audit.Head{Writer: "w", Seq: records[n].Seq - 1, Hash: records[n].Prev}
		lines = head.Append(lines, entry("alice", n))
	}
	x, _ := follow(t, openedIn(t, OpenSQLite, filepath.Join(t.TempDir(), "index")), func() ([]string, error) { return []string{path}, nil })
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	x.Follow(records[:1])
	await(t, x, 1)
	must.Succeed(t, os.WriteFile(path, lines, 0o600))
	x.Follow(records[2:3])
	if got := await(t, x, 4); !slices.Equal(got, []string{"alice-4", "alice-2", "alice-1", "alice-0"}) {
		t.Error(got)
	}
}

// TestAnIndexWithoutADatabaseLagsFromTheStart has nobody who knows what the
// index has: it lags at least since the start, and since the oldest record that
// it had no room for.
func TestAnIndexWithoutADatabaseLagsFromTheStart(t *testing.T) {
	store := openedIn(t, OpenPostgres, "postgres://index@127.0.0.1:1/index?connect_timeout=1")
	path := filepath.Join(t.TempDir(), "trail")
	before := time.Now()
	write(t, path, nil, 0, 3)
	x := New(store, Config{Files: func() ([]string, error) { return sink.Files(path) }, Log: slog.New(slog.DiscardHandler)})
	begin := time.Now()
	x.now = func() time.Time { return begin.Add(time.Hour) }
	for range 3 {
		if err := x.fill(t.Context()); err == nil {
			t.Fatal("there is a database")
		}
		if got := x.lag(); got < time.Hour || got > time.Hour+time.Since(before) {
			t.Errorf("an index that was without its database for an hour lags by %s", got)
		}
	}
	c := newChain("w")
	for n := range 2 * maxQueued {
		e := entry("alice", n)
		e.Time = begin.Add(-time.Hour)
		x.Follow([]audit.Record{c.next(e)})
	}
	if err := x.fill(t.Context()); err == nil {
		t.Fatal("there is a database")
	}
	if got := x.lag().Round(time.Second); got != 2*time.Hour {
		t.Errorf("the oldest record that the index lacks is two hours old, and it lags by %s", got)
	}
}

// TestAnIndexThatCannotBeOpenedIsTriedAgain has a database that is not there at
// the start: with a trail on standard output, what was written meanwhile waits.
func TestAnIndexThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not mounted yet")
	x, _ := follow(t, Later(func() (*Store, error) { return OpenSQLite(filepath.Join(dir, "index")) }), nil)
	registry := prometheus.NewRegistry()
	must.Succeed(t, x.Register(registry))
	expect := func(metric string, want float64) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("%s %v", metric, want), func() bool { return gathered(t, registry)[metric] == want })
	}
	expect("failures_total", 1) // Also when there was nothing to write.
	expect("open", 0)
	x.Follow(newChain("w").records("alice", 0, 1))
	if _, err := x.Search(t.Context(), audit.Query{Limit: 1}); err == nil {
		t.Error("an index that is not open has an answer")
	}
	must.Succeed(t, os.Mkdir(dir, 0o700))
	if got := await(t, x, 2); !slices.Equal(got, numbered(0, 2)) {
		t.Error(got)
	}
	expect("open", 1)
}

// TestWhatAnIndexEndsWithoutIsCounted has an index that ends before its database
// is there.
func TestWhatAnIndexEndsWithoutIsCounted(t *testing.T) {
	x, end := follow(t, Later(func() (*Store, error) { return nil, os.ErrNotExist }), nil)
	registry := prometheus.NewRegistry()
	must.Succeed(t, x.Register(registry))
	x.Follow(newChain("w").records("alice", 0, 1, 2))
	end()
	if got := gathered(t, registry)["lost_total"]; got != 3 {
		t.Errorf("%v are lost, want 3", got)
	}
}

// gathered returns the index's metrics by the end of their names.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families := must.Value(registry.Gather())(t)
	values := map[string]float64{}
	for _, f := range families {
		values[strings.TrimPrefix(f.GetName(), "hostedbridge_ingress_audit_index_")] = f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
	}
	return values
}
