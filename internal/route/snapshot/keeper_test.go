// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// keptSource is a RouteSource that a test moves. While away is zero it is in
// contact.
type keptSource struct {
	mu    sync.Mutex
	table *route.Table
	away  time.Time
}

func (s *keptSource) Current() *route.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table
}

func (s *keptSource) Confirmed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away.IsZero() {
		return time.Now()
	}
	return s.away
}

func (s *keptSource) set(table *route.Table, away time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table, s.away = table, away
}

// kept is what was written: how many routes, and when they were confirmed.
type kept struct {
	Routes    int
	Confirmed time.Duration
}

// keeping runs a keeper in a bubble, and returns what it writes.
type keeping struct {
	source *keptSource
	log    *strings.Builder
	start  time.Time
	end    func()

	mu     sync.Mutex
	fail   error
	writes []kept
}

func (k *keeping) keep(s Table) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail == nil {
		k.writes = append(k.writes, kept{s.Routes.Len(), s.Confirmed.Sub(k.start)})
	}
	return k.fail
}

// failWith has writes fail from now on, or not.
func (k *keeping) failWith(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = err
}

func startKeeping(t *testing.T, last Table) *keeping {
	t.Helper()
	k := &keeping{source: &keptSource{}, log: &strings.Builder{}, start: time.Now()}
	keeper := &Keeper{
		routes: k.source, clock: clock.System{}, last: last, log: slog.New(slog.NewTextHandler(k.log, nil)),
		keep: k.keep,
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- keeper.Run(ctx) }()
	k.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	synctest.Wait()
	return k
}

// after waits, and returns what was written meanwhile.
func (k *keeping) after(d time.Duration) []kept {
	time.Sleep(d)
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	writes := k.writes
	k.writes = nil
	return writes
}

func expect(t *testing.T, what string, got []kept, want ...kept) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRoutesAreWrittenWhenTheyChangeAndNotMoreOftenThanEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKeeping(t, Table{})
		expect(t, "before the first table", k.after(10*time.Second))
		k.source.set(tableOf(t, "alice"), time.Time{})
		expect(t, "the first table", k.after(time.Second), kept{1, 11 * time.Second})
		expect(t, "no change", k.after(59*time.Second))
		expect(t, "a minute without a change", k.after(time.Second), kept{1, 71 * time.Second})
		for range 9 {
			k.source.set(tableOf(t, "alice", "bob"), time.Time{})
			k.after(0)
			time.Sleep(100 * time.Millisecond)
		}
		expect(t, "nine changes in a second", k.after(100*time.Millisecond), kept{2, 72 * time.Second})
		k.source.set(tableOf(t), time.Time{})
		k.end()
		expect(t, "a change right before the end", k.after(0), kept{0, 72 * time.Second})
	})
}

func TestTheEndOfContactIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKeeping(t, Table{})
		table := tableOf(t, "alice")
		k.source.set(table, time.Time{})
		expect(t, "the first table", k.after(time.Second), kept{1, time.Second})
		time.Sleep(20*time.Second + 500*time.Millisecond)
		k.source.set(table, time.Now())
		expect(t, "the end of contact", k.after(time.Hour), kept{1, 21500 * time.Millisecond})
		k.source.set(table, time.Time{})
		expect(t, "contact again", k.after(time.Second), kept{1, time.Hour + 22*time.Second})
		k.end()
	})
}

func TestARestoredSnapshotIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := Table{Routes: tableOf(t, "alice"), Confirmed: time.Now().Add(-time.Hour)}
		k := startKeeping(t, last)
		k.source.set(last.Routes, last.Confirmed)
		expect(t, "the restored table", k.after(time.Hour))
		k.source.set(tableOf(t, "alice"), time.Time{})
		expect(t, "the API server's", k.after(time.Second), kept{1, time.Hour + time.Second})
		k.end()
	})
}

func TestAWriteThatFailsIsMadeAgainAndSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startKeeping(t, Table{})
		k.failWith(errors.New("no space left on device"))
		k.source.set(tableOf(t, "alice"), time.Time{})
		expect(t, "while the disk is full", k.after(time.Minute))
		if n := strings.Count(k.log.String(), "no space left"); n != 1 {
			t.Errorf("said %d times:\n%s", n, k.log)
		}
		k.failWith(nil)
		expect(t, "then", k.after(time.Second), kept{1, 61 * time.Second})
		if !strings.Contains(k.log.String(), "kept again") {
			t.Errorf("the end of the failure is not said:\n%s", k.log)
		}
		k.end()
	})
}
