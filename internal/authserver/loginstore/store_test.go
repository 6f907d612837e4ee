// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/postgresserver"
)

var cluster postgresserver.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		cluster.Remove()
		os.Exit(code)
	}))
}

// targets return where a new and empty store is.
var targets = map[string]func(t testing.TB) string{
	"SQLite":     func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "logins?.db") },
	"PostgreSQL": func(t testing.TB) string { return "postgres:" + written(t, cluster.Database(t)) },
}

// written returns a file with the text, as a Secret is mounted.
func written(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "url")
	must.Succeed(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// everywhere runs a test against each of the stores.
func everywhere(t *testing.T, test func(t *testing.T, open func() *Store)) {
	t.Helper()
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			where := target(t)
			test(t, func() *Store { return opened(t, where, Options{}) })
		})
	}
}

// clock is a time that a test moves.
type clock struct{ time.Time }

// everywhereByClock is everywhere with a store whose entries end by a clock.
func everywhereByClock(t *testing.T, test func(t *testing.T, s *Store, c *clock)) {
	t.Helper()
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			c := &clock{time.Now()}
			test(t, opened(t, target(t), Options{Now: func() time.Time { return c.Time }}), c)
		})
	}
}

func opened(t testing.TB, target string, o Options) *Store {
	t.Helper()
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := must.Value(Open(t.Context(), target, o))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// later is when entries end that a test is over before.
func later() time.Time { return time.Now().Add(time.Hour) }

func put(t *testing.T, s *Store, kind flow.Kind, key, value string, expires time.Time) {
	t.Helper()
	must.Succeed(t, s.Put(t.Context(), kind, key, []byte(value), expires))
}

// expect compares what the store has with want; "" for nothing.
func expect(t *testing.T, s *Store, kind flow.Kind, key, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), kind, key)
	switch {
	case want == "" && !errors.Is(err, flow.ErrNotFound):
		t.Errorf("%s %s is %q, %v", kind, key, got, err)
	case want != "" && (err != nil || string(got) != want):
		t.Errorf("%s %s is %q, %v, and not %q", kind, key, got, err, want)
	}
}

func TestAnEntryComesBackAsItWasPut(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		for key, value := range map[string]string{
			"text":              `{"a":"b"}`,
			"every byte":        string(every),
			"a long value":      strings.Repeat("long", 10_000),
			"? $1 ' OR 1=1 -- ": "a key that would be a statement",
			"ключ: *":           "a key of other letters",
		} {
			put(t, s, "login", key, value, later())
			expect(t, s, "login", key, value)
			expect(t, s, "code", key, "") // Kinds are apart.
		}
		must.Succeed(t, s.Put(t.Context(), "login", "empty", nil, later()))
		if got, err := s.Get(t.Context(), "login", "empty"); err != nil || len(got) != 0 {
			t.Errorf("an empty value is %q, %v", got, err)
		}
		if got, err := s.Take(t.Context(), "login", "empty"); err != nil || len(got) != 0 {
			t.Errorf("an empty value is %q, %v", got, err)
		}
	})
}

func TestWhatIsThereIsNotPutAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		put(t, s, "code", "a", "first", later())
		for _, expires := range []time.Time{later(), time.Now().Add(-time.Second)} {
			if err := s.Put(t.Context(), "code", "a", []byte("second"), expires); !errors.Is(err, flow.ErrExists) {
				t.Error(err)
			}
		}
		expect(t, s, "code", "a", "first")
	})
}

func TestWhatIsTakenIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		put(t, s, "code", "a", "value", later())
		if got, err := s.Take(t.Context(), "code", "a"); err != nil || string(got) != "value" {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := s.Take(t.Context(), "code", "a"); !errors.Is(err, flow.ErrNotFound) || got != nil {
			t.Errorf("%q, %v", got, err)
		}
		expect(t, s, "code", "a", "")
		put(t, s, "code", "a", "another", later())
		expect(t, s, "code", "a", "another")
	})
}

func TestWhatIsDeletedIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		put(t, s, "grant", "a", "value", later())
		put(t, s, "grant", "b", "value", later())
		for range 2 {
			if err := s.Delete(t.Context(), "grant", "a"); err != nil {
				t.Error(err)
			}
		}
		expect(t, s, "grant", "a", "")
		expect(t, s, "grant", "b", "value")
	})
}

func TestAValueIsSwappedForTheOneThatIsThere(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		swap := func(key, old, value string, expires time.Time) error {
			return s.Swap(t.Context(), "grant", key, []byte(old), []byte(value), expires)
		}
		put(t, s, "grant", "a", "one", later())
		must.Succeed(t, swap("a", "one", "two", later()))
		expect(t, s, "grant", "a", "two")
		for name, err := range map[string]error{
			"the value before":    swap("a", "one", "three", later()),
			"no value":            swap("a", "", "three", later()),
			"a part of the value": swap("a", "tw", "three", later()),
			"of nothing":          swap("b", "", "three", later()),
			"of another kind":     s.Swap(t.Context(), "login", "a", []byte("two"), nil, later()),
		} {
			if !errors.Is(err, flow.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		expect(t, s, "grant", "a", "two")
		expect(t, s, "grant", "b", "")
		if err := swap("a", "two", "three", time.Now().Add(-time.Second)); err != nil {
			t.Error(err)
		}
		expect(t, s, "grant", "a", "")
	})
}

func TestAnEntryEnds(t *testing.T) {
	everywhereByClock(t, func(t *testing.T, s *Store, c *clock) {
		soon := c.Add(time.Second)
		for _, key := range []string{"put", "take", "swap"} {
			put(t, s, "login", key, "value", soon)
		}
		put(t, s, "login", "stays", "value", later())
		put(t, s, "login", "shortened", "value", later())
		put(t, s, "login", "extended", "value", soon)
		for key, expires := range map[string]time.Time{"shortened": soon, "extended": later()} {
			must.Succeed(t, s.Swap(t.Context(), "login", key, []byte("value"), []byte("other"), expires))
		}
		c.Time = soon.Add(-time.Millisecond)
		expect(t, s, "login", "put", "value")
		expect(t, s, "login", "shortened", "other")
		c.Time = soon
		for _, key := range []string{"put", "take", "swap", "shortened"} {
			expect(t, s, "login", key, "")
		}
		if got, err := s.Take(t.Context(), "login", "take"); !errors.Is(err, flow.ErrNotFound) {
			t.Errorf("what is over is taken: %q, %v", got, err)
		}
		if err := s.Swap(t.Context(), "login", "swap", []byte("value"), []byte("new"), later()); !errors.Is(err, flow.ErrNotFound) {
			t.Errorf("what is over is swapped: %v", err)
		}
		expect(t, s, "login", "stays", "value")
		expect(t, s, "login", "extended", "other")
		put(t, s, "login", "put", "anew", later()) // Nobody has removed it yet.
		expect(t, s, "login", "put", "anew")
	})
}

func TestEntriesThatAreOverBeforeTheyAreThereAreNotKept(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		put(t, s, "code", "a", "value", time.Now().Add(-time.Second))
		expect(t, s, "code", "a", "")
	})
}

func TestOfTooManyEntriesThoseThatEndFirstAreRemoved(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		for i, end := range []int{3, 1, 5, 2, 4} {
			put(t, s, "unused", fmt.Sprint(end), "value", later().Add(time.Duration(end)*time.Minute))
			put(t, s, "client", fmt.Sprint(i), "value", later())
		}
		for _, most := range []int{5, 3} {
			must.Succeed(t, s.Trim(t.Context(), "unused", most))
			for end := 1; end <= 5; end++ {
				want := "value"
				if end <= 5-most {
					want = ""
				}
				expect(t, s, "unused", fmt.Sprint(end), want)
			}
		}
		expect(t, s, "client", "0", "value")
	})
}

func TestWhatIsOverIsRemoved(t *testing.T) {
	everywhereByClock(t, func(t *testing.T, s *Store, c *clock) {
		const over = 20
		soon := c.Add(time.Second)
		for i := range over {
			put(t, s, "login", fmt.Sprint(i), "value", soon)
			put(t, s, "code", fmt.Sprint(i), "value", soon)
		}
		put(t, s, "login", "stays", "value", later())
		c.Time = soon
		var removed int64
		for range 2 * over {
			n := must.Value(s.table.purge(t.Context()))(t)
			removed += n
		}
		if removed != 2*over {
			t.Errorf("removed %d", removed)
		}
		expect(t, s, "login", "stays", "value")
	})
}

func TestEntriesAreThereAfterARestart(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		put(t, s, "grant", "a", "value", later())
		must.Succeed(t, s.Close())
		if err := s.Delete(t.Context(), "grant", "a"); err == nil {
			t.Error("a store that is closed deletes")
		}
		expect(t, open(), "grant", "a", "value")
	})
}

// TestOfSeveralOneIsFirst has two replicas asked for the same things by many at
// once. In an SQLite file two processes are not to be expected, but happen while
// one takes the other's place.
func TestOfSeveralOneIsFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		replicas := []*Store{open(), open()}
		const rounds, each = 20, 8
		for round := range rounds {
			key := fmt.Sprint(round)
			var puts, swaps, takes atomic.Int64
			race := func(won *atomic.Int64, do func(s *Store, who string) error) {
				t.Helper()
				var group sync.WaitGroup
				for i := range each {
					group.Go(func() {
						err := do(replicas[i%2], fmt.Sprint(i))
						if err == nil {
							won.Add(1)
						} else if !refused(err) {
							t.Error(err)
						}
					})
				}
				group.Wait()
				if won.Load() != 1 {
					t.Errorf("%d were first", won.Load())
				}
			}
			race(&puts, func(s *Store, who string) error {
				return s.Put(t.Context(), "code", key, []byte(who), later())
			})
			value := must.Value(replicas[0].Get(t.Context(), "code", key))(t)
			race(&swaps, func(s *Store, who string) error {
				return s.Swap(t.Context(), "code", key, value, []byte("swapped by "+who), later())
			})
			race(&takes, func(s *Store, _ string) error {
				got, err := s.Take(t.Context(), "code", key)
				if err == nil && !strings.HasPrefix(string(got), "swapped by ") {
					t.Errorf("took %q", got)
				}
				return err
			})
		}
	})
}

func TestWhoLeavesIsNotWaitedFor(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Put(ctx, "code", "a", nil, later()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := s.Get(ctx, "code", "a"); err == nil {
			t.Error("no error")
		}
		put(t, s, "code", "b", "value", later()) // Others go on.
	})
}

func TestTargets(t *testing.T) {
	missing, secret := filepath.Join(t.TempDir(), "none"), written(t, "postgres://me:geheim@[::1")
	for name, test := range map[string]struct {
		target, want string
		checked      bool // checkTarget has found it
	}{
		"nothing":                        {"", "sqlite:PATH", true},
		"a path alone":                   {"/var/lib/logins.db", "sqlite:PATH", true},
		"no path":                        {"sqlite:", "sqlite:PATH", true},
		"a store that nobody knows":      {"etcd:/x", "sqlite:PATH", true},
		"no directory":                   {"sqlite:" + missing + "/logins.db", "no such file", false},
		"a file with the URL is missing": {"postgres:" + missing, "no such file", false},
		"a Redis":                        {"redis:/etc/url", "sqlite:PATH", true},
		"a URL of PostgreSQL that is none": {
			"postgres:" + secret, "postgres://user:password@host:5432/database", false},
		"a URL of another database": {"postgres:" + written(t, "redis://me:geheim@h/0"), "postgres://user:password@host:5432/database", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkTarget(test.target); (err != nil) != test.checked {
				t.Errorf("checkTarget: %v", err)
			}
			_, err := Open(t.Context(), test.target, Options{Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "geheim") {
				t.Error(err)
			}
		})
	}
	if !Embedded("sqlite:/a") || Embedded("postgres:/a") {
		t.Error("of a file it is not said that it is one")
	}
}

// TestAServerThatIsAwayIsUsedOnceItIsThere opens the store of a PostgreSQL that
// does not run, and then starts it.
func TestAServerThatIsAwayIsUsedOnceItIsThere(t *testing.T) {
	target := "postgres:" + written(t, cluster.Database(t))
	cluster.Stop()
	var log strings.Builder
	metrics := prometheus.NewRegistry()
	s := opened(t, target, Options{Metrics: metrics, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "the login store is away") {
		t.Errorf("the log says %q", log.String())
	}
	err := s.Put(t.Context(), "code", "a key", []byte("a value"), later())
	if err == nil || refused(err) || strings.Contains(err.Error(), "a key") || strings.Contains(err.Error(), "a value") || !strings.HasPrefix(err.Error(), "login store: put: ") {
		t.Error(err)
	}
	cluster.Run(t)
	put(t, s, "code", "a key", "a value", later())
	_, _ = s.Get(t.Context(), "code", "another")
	got := counted(t, metrics)
	want := []string{"get refused 1", "put done 1", "put failed 1"}
	if !slices.Equal(got, want) {
		t.Errorf("the metrics are %q, not %q", got, want)
	}
}

// counted returns what the metrics have counted, and how often.
func counted(t *testing.T, metrics *prometheus.Registry) (all []string) {
	t.Helper()
	families := must.Value(metrics.Gather())(t)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue(); n > 0 && len(m.GetLabel()) == 2 {
				all = append(all, fmt.Sprintf("%s %s %v", m.GetLabel()[0].GetValue(), m.GetLabel()[1].GetValue(), n))
			}
		}
	}
	return all
}

func TestRunClosesTheStore(t *testing.T) {
	s := opened(t, "sqlite:"+filepath.Join(t.TempDir(), "logins.db"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	put(t, s, "code", "a", "value", later())
	s.purge(ctx)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), "code", "a"); err == nil {
		t.Error("it is open")
	}
}
