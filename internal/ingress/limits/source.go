// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// widths are the networks of an IPv6 address that are limited, by the bits of their
// prefix: what a machine, a home and a site are given (RFC 6177). A wider network may do
// more, and memory has fewer shares for it.
var widths = [...]struct {
	bits         int
	times, share int64
}{{64, 1, 16}, {56, 4, 8}, {48, 16, 4}}

// SourceNetworks returns the networks of a sender, the narrowest first: of an IPv4
// address that address alone, and of an IPv6 address its /64, /56 and /48.
func SourceNetworks(a netip.Addr) []netip.Prefix {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}
	}
	networks := make([]netip.Prefix, len(widths))
	for i, width := range widths {
		networks[i] = netip.PrefixFrom(a, width.bits).Masked()
	}
	return networks
}

// Within reports whether one of the networks has an address.
func Within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// SourceRate is a Rate for each sender, and a higher one for the networks around it.
type SourceRate struct {
	seed  maphash.Seed
	rates [len(widths)]Rate
}

// NewSourceRate returns a rate of burst events of a sender at once, and then of one in
// every.
func NewSourceRate(burst int64, every time.Duration) *SourceRate {
	s := &SourceRate{seed: maphash.MakeSeed()}
	for i, width := range widths {
		s.rates[i].Burst, s.rates[i].Every = burst*width.times, every/time.Duration(width.times)
	}
	return s
}

// NewSourceRatePerSecond returns a rate of so many events of a sender in a second, on
// average, and nil, which is no limit, for none.
func NewSourceRatePerSecond(n int) *SourceRate {
	if n <= 0 {
		return nil
	}
	return NewSourceRate(RateBurst*int64(n), time.Second/time.Duration(n))
}

// Take is Rate.Take for a sender. A sender that may not pass takes nothing from the
// networks around it.
func (s *SourceRate) Take(source netip.Addr, now time.Time) time.Duration {
	for i, network := range SourceNetworks(source) {
		if wait := s.rates[i].Take(maphash.Comparable(s.seed, network), now); wait > 0 {
			return wait
		}
	}
	return 0
}

// SourceMemory is a Memory of which each sender, and each network around it, may
// fill a share.
type SourceMemory struct {
	shares [len(widths)]*Memory[netip.Prefix]
}

// NewSourceMemory returns a bound of so many bytes, or of so many of what else is counted.
func NewSourceMemory(limit int64) *SourceMemory {
	m := &SourceMemory{}
	for i, width := range widths {
		m.shares[i] = NewMemory[netip.Prefix](limit, width.share)
	}
	return m
}

// For returns a reservation of a sender, of nothing yet.
func (m *SourceMemory) For(source netip.Addr) *Reservation {
	return &Reservation{of: senderShare{m, source}}
}

// Held returns how much is reserved.
func (m *SourceMemory) Held() int64 { return m.shares[0].Held() }

type senderShare struct {
	memory *SourceMemory
	source netip.Addr
}

func (s senderShare) take(size int64) error {
	networks := SourceNetworks(s.source)
	for i, network := range networks {
		if err := s.memory.shares[i].take(network, size); err != nil {
			s.memory.change(networks[:i], -size)
			return err
		}
	}
	return nil
}

func (s senderShare) change(size int64) { s.memory.change(SourceNetworks(s.source), size) }

func (m *SourceMemory) change(networks []netip.Prefix, size int64) {
	for i, network := range networks {
		m.shares[i].change(network, size)
	}
}

// KnownSources are the senders from whose network somebody was let in not long ago. It
// has a fixed size: two networks that share a cell are both known.
type KnownSources struct {
	seed  maphash.Seed
	cells [cells]atomic.Int64 // Unix seconds of the last time.
}

// knownFor is how long a network is known: as long as a refresh token is good by
// default without a refresh.
const knownFor = 14 * 24 * time.Hour

// NewKnownSources returns senders none of which is known.
func NewKnownSources() *KnownSources { return &KnownSources{seed: maphash.MakeSeed()} }

func (k *KnownSources) cell(source netip.Addr) *atomic.Int64 {
	return &k.cells[maphash.Comparable(k.seed, SourceNetworks(source)[0])%cells]
}

// Remember notes that somebody was let in.
func (k *KnownSources) Remember(source netip.Addr, now time.Time) {
	k.cell(source).Store(now.Unix())
}

// Has reports whether somebody was let in from the sender's network.
func (k *KnownSources) Has(source netip.Addr, now time.Time) bool {
	return now.Unix()-k.cell(source).Load() < int64(knownFor.Seconds())
}
