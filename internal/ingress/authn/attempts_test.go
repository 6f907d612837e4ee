// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func newTestAttempts(t testing.TB) *attempts {
	t.Helper()
	a, err := newAttempts(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFailuresAreLimitedBySourceAndByID(t *testing.T) {
	now := time.Unix(1000, 0)
	a := newTestAttempts(t)
	first := netip.MustParseAddr("192.0.2.1")
	for n := range SourceBurst {
		if wait := a.failed(first, "id"+strconv.Itoa(n), now); wait != 0 {
			t.Fatalf("attempt %d waits %v", n, wait)
		}
	}
	if wait := a.failed(first, "", now); wait != sourceEvery {
		t.Errorf("one attempt too many waits %v", wait)
	}
	if wait := a.failed(first, "", now.Add(sourceEvery)); wait != 0 {
		t.Errorf("after %v an attempt waits %v: those that were refused count", sourceEvery, wait)
	}
	// Two that share a cell by chance share its limit, so the ids are not tried beside the others.
	a = newTestAttempts(t)
	for n := range IDBurst {
		if wait := a.failed(netip.AddrFrom4([4]byte{198, 51, 100, byte(n)}), "one", now); wait != 0 {
			t.Fatalf("attempt %d on an id waits %v", n, wait)
		}
	}
	if wait := a.failed(netip.MustParseAddr("203.0.113.1"), "one", now); wait != idEvery {
		t.Errorf("one attempt too many on an id waits %v", wait)
	}
	if !slices.ContainsFunc([]string{"two", "three", "four"}, func(id string) bool {
		return a.failed(netip.MustParseAddr("203.0.113.1"), id, now) == 0
	}) {
		t.Error("attempts on other ids wait")
	}
}

func BenchmarkAFailedAttempt(b *testing.B) {
	a := newTestAttempts(b)
	source := netip.MustParseAddr("192.0.2.1")
	now := time.Unix(1000, 0)
	b.ReportAllocs()
	for b.Loop() {
		a.failed(source, "abcdefghijkl", now)
	}
}
