// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net/netip"
	"sync"
	"testing"
	"time"
)

func TestManyAtOnceGetNoMoreThanTheBurst(t *testing.T) {
	l := &Rate{Burst: 50, Every: time.Second}
	now := time.Unix(1000, 0)
	var passed sync.Map
	var all sync.WaitGroup
	for n := range 400 {
		all.Go(func() {
			if l.Take(7, now) == 0 {
				passed.Store(n, true)
			}
		})
	}
	all.Wait()
	count := 0
	passed.Range(func(any, any) bool { count++; return true })
	if count != 50 {
		t.Errorf("%d passed, want 50", count)
	}
}

func TestSourcesAreWhatASenderCannotLeave(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		if got := SourceNetwork(netip.MustParseAddr(test.a)) == SourceNetwork(netip.MustParseAddr(test.b)); got != test.same {
			t.Errorf("%s and %s: one source %v, want %v", test.a, test.b, got, test.same)
		}
	}
	if SourceNetwork(netip.Addr{}).IsValid() {
		t.Error("no address has a network")
	}
}
