// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheNetworksOfASender(t *testing.T) {
	for address, want := range map[string][]string{
		"192.0.2.1":             {"192.0.2.1/32"},
		"::ffff:192.0.2.1":      {"192.0.2.1/32"},
		"2001:db8:1:2ff:3::4":   {"2001:db8:1:2ff::/64", "2001:db8:1:200::/56", "2001:db8:1::/48"},
		"fe80::1%eth0":          {"fe80::/64", "fe80::/56", "fe80::/48"},
		"2001:db8:1:2ff:ffff::": {"2001:db8:1:2ff::/64", "2001:db8:1:200::/56", "2001:db8:1::/48"},
	} {
		var got []string
		for _, network := range SourceNetworks(netip.MustParseAddr(address)) {
			got = append(got, network.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
	if got := SourceNetworks(netip.Addr{}); len(got) != 1 || got[0].IsValid() {
		t.Errorf("no address has %v", got)
	}
}

func TestANetworkMayDoMoreThanASenderAndLessThanAllOfThem(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for name, test := range map[string]struct {
		sender func(n int) string
		want   int
	}{
		"one sender":               {func(int) string { return "2001:db8::1" }, 10},
		"one IPv4 address":         {func(int) string { return "192.0.2.1" }, 10},
		"addresses of one machine": {func(n int) string { return fmt.Sprintf("2001:db8::%x", n) }, 10},
		"machines of one home":     {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n%256) }, 40},
		"homes of one site":        {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n%256*256) }, 160},
		"sites":                    {func(n int) string { return fmt.Sprintf("2001:db8:%x::1", n) }, 1000},
	} {
		rate := NewSourceRate(10, time.Second)
		passed := 0
		for n := range 1000 {
			if rate.Take(netip.MustParseAddr(test.sender(n)), now) == 0 {
				passed++
			}
		}
		// Senders that share a cell share its limit.
		if passed > test.want || passed < test.want*8/10 {
			t.Errorf("%s: %d events pass, want %d", name, passed, test.want)
		}
	}
}

func TestASenderThatIsRefusedTakesNothingFromItsNetwork(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	rate := NewSourceRate(1, time.Hour)
	for range 100 {
		rate.Take(netip.MustParseAddr("2001:db8::1"), now)
	}
	if wait := rate.Take(netip.MustParseAddr("2001:db8:0:1::1"), now); wait != 0 {
		t.Errorf("its neighbour waits %v", wait)
	}
}

func TestMemoryHasSharesForNetworks(t *testing.T) {
	for name, test := range map[string]struct {
		sender func(n int) string
		want   int
	}{
		"one sender":           {func(int) string { return "2001:db8::1" }, 4},
		"machines of one home": {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n) }, 8},
		"homes of one site":    {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n*256) }, 16},
		"sites":                {func(n int) string { return fmt.Sprintf("2001:db8:%x::1", n) }, 64},
	} {
		memory := NewSourceMemory(64)
		var taken []*Reservation
		for n := range 100 {
			r := memory.For(netip.MustParseAddr(test.sender(n)))
			for r.Reserve(1) == nil {
			}
			taken = append(taken, r)
		}
		if got := memory.Held(); got != int64(test.want) {
			t.Errorf("%s: %d are taken, want %d", name, got, test.want)
		}
		for _, r := range taken {
			r.Release()
		}
		if got := memory.Held(); got != 0 || memory.For(netip.MustParseAddr("2001:db8::1")).Reserve(4) != nil {
			t.Errorf("%s: %d are left", name, got)
		}
	}
}

func TestASenderIsKnownForFourteenDays(t *testing.T) {
	known, now := NewKnownSources(), time.Unix(1_000_000_000, 0)
	friend, neighbour := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	if known.Has(friend, now) {
		t.Error("a stranger is known")
	}
	known.Remember(friend, now)
	if !known.Has(neighbour, now.Add(14*24*time.Hour-time.Second)) || known.Has(friend, now.Add(14*24*time.Hour)) {
		t.Error("it is known for another time")
	}
}
