// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// keptCounts is a counter with a file, whose Run runs.
type keptCounts struct {
	*Counter
	clock *clocktest.Clock
	wait  clocktest.Wait
	stop  context.CancelFunc
	ended chan error
}

func openCounts(t *testing.T, path string) *keptCounts {
	t.Helper()
	clock := clocktest.New(0)
	ctx, stop := context.WithCancel(t.Context())
	k := &keptCounts{OpenCounter(path, clock, slog.New(slog.DiscardHandler)), clock, clocktest.Wait{}, stop, make(chan error, 1)}
	t.Cleanup(stop)
	go func() { k.ended <- k.Run(ctx) }()
	k.wait = <-clock.Waits
	return k
}

// nextSave returns when Run has written what changed.
func (k *keptCounts) nextSave() {
	k.clock.End(k.wait)
	k.wait = <-k.clock.Waits
}

func (k *keptCounts) end(t *testing.T) {
	t.Helper()
	k.stop()
	if err := <-k.ended; err != nil {
		t.Fatal(err)
	}
}

func TestARestartKeepsTheCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	before := openCounts(t, path)
	for range 6 {
		if r := takeCount(t, before.Counter, asksCount(before.Counter, "a", "alice")); r.Refused != quota.None {
			t.Fatalf("refused by %v", r.Refused)
		}
	}
	before.end(t)
	after := openCounts(t, path)
	if after.marker != before.marker {
		t.Error("replicas are told that the counts are lost")
	}
	if r := takeCount(t, after.Counter, asksCount(before.Counter, "b", "alice")); r.Refused != quota.Minute {
		t.Errorf("a seventh call: %v", r.Refused)
	}
	after.end(t)
}

func TestAProcessThatWasKilledAsksReplicasWhatTheyKnow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	first := openCounts(t, path)
	takeCount(t, first.Counter, asksCount(first.Counter, "a", "alice"))
	first.end(t)
	// The second one goes on from a file of an orderly end, and has none.
	second := openCounts(t, path)
	takeCount(t, second.Counter, asksCount(second.Counter, "a", "alice"))
	second.nextSave()
	takeCount(t, second.Counter, asksCount(second.Counter, "a", "alice")) // It is not in the file.
	third := openCounts(t, path)
	if third.marker == second.marker {
		t.Error("replicas are not told that counts are lost")
	}
	if used := third.users["alice"].State.Windows[0].Used; used != 2 {
		t.Errorf("the file has %d calls, want 2", used)
	}
	q := asksCount(third.Counter, "a", "alice")
	q.Alone, q.Seen = true, second.users["alice"].State
	if r := takeCount(t, third.Counter, q); r.State.Windows[0].Used != 4 {
		t.Errorf("with what a replica has seen %d calls, want 4", r.State.Windows[0].Used)
	}
	second.end(t)
	third.end(t)
}

func TestAFileThatIsOfNoUseIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	must.Succeed(t, os.WriteFile(path, []byte("{"), 0o600))
	log := &bytes.Buffer{}
	c := OpenCounter(path, clocktest.New(0), slog.New(slog.NewTextHandler(log, nil)))
	if !strings.Contains(log.String(), "are not used") || len(c.users) != 0 || c.marker == "" {
		t.Errorf("log %q, users %v", log, c.users)
	}
	log.Reset()
	OpenCounter(filepath.Join(path, "below a file"), clocktest.New(0), slog.New(slog.NewTextHandler(log, nil)))
	if !strings.Contains(log.String(), "are not kept over a restart") {
		t.Errorf("log %q", log)
	}
}

func TestWithoutAFileNothingIsKept(t *testing.T) {
	k := openCounts(t, "")
	takeCount(t, k.Counter, asksCount(k.Counter, "a", "alice"))
	k.nextSave()
	k.end(t)
}
