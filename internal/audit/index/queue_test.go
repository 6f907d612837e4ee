// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"log/slog"
	"runtime"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// TestAFullQueueCostsTheSinkNoMore counts the bytes that are allocated under the
// sink's lock: whoever copies the queue has to put the copy somewhere.
func TestAFullQueueCostsTheSinkNoMore(t *testing.T) {
	x := New(new(Store), Config{Log: slog.New(slog.DiscardHandler)})
	one := newChain("w").records("alice", 0)
	for range maxQueued {
		x.Follow(one)
	}
	const more = 3 * maxQueued
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range more {
		x.Follow(one)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / more; each > 1024 {
		t.Errorf("%d bytes are allocated for each record that a full queue takes", each)
	}
}

func TestAQueueKeepsTheOrder(t *testing.T) {
	x := New(new(Store), Config{Log: slog.New(slog.DiscardHandler)})
	c := newChain("w")
	next := uint64(1) // of what is taken
	total := 0
	follow := func(n int) {
		for range n {
			total++
			x.Follow(c.records("alice", total))
		}
	}
	take := func(putBack bool) {
		t.Helper()
		records := x.takeQueued()
		for i, r := range records {
			if r.Seq != next+uint64(i) {
				t.Fatalf("number %d comes in place of %d", r.Seq, next+uint64(i))
			}
		}
		if putBack {
			x.putBack(records)
			return
		}
		next += uint64(len(records))
	}
	for round := range 40 {
		follow(37 * round % 700)
		take(true)
		take(round%3 == 0)
	}
	for x.queue.len() > 0 {
		take(false)
	}
	if next != uint64(total)+1 {
		t.Errorf("%d of %d came", next-1, total)
	}
	for _, r := range x.queue.ring {
		if r.Hash != "" {
			t.Fatal("the queue keeps what it has given away")
		}
	}
}

// TestWhatIsPutBackIsOlderThanWhatCame has the queue filled while records are
// being written, which then does not succeed: the oldest of them go.
func TestWhatIsPutBackIsOlderThanWhatCame(t *testing.T) {
	x := New(new(Store), Config{Files: func() ([]string, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler)})
	x.behind = false
	c := newChain("w")
	n := 0
	follow := func(many int) {
		for range many {
			n++
			x.Follow(c.records("alice", n))
		}
	}
	follow(batch)
	records := x.takeQueued()
	follow(maxQueued - 3)
	x.putBack(records)
	if got := x.queue.at(0).Seq; x.queue.len() != maxQueued || got != batch-2 {
		t.Errorf("%d are queued from number %d", x.queue.len(), got)
	}
	if !x.behind || !x.since.Equal(records[0].Entry.Time) {
		t.Errorf("behind %v since %s, want since %s", x.behind, x.since, records[0].Entry.Time)
	}
	var last audit.Head
	for x.queue.len() > 0 {
		r := x.queue.pop()
		if last.Seq != 0 && r.Seq != last.Seq+1 {
			t.Fatalf("number %d follows %d", r.Seq, last.Seq)
		}
		last = r.Head
	}
}
