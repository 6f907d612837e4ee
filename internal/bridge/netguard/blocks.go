// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"cmp"
	"net/netip"
	"slices"
)

// Block is a range of addresses without some ranges within it. It is what a
// NetworkPolicy can say of addresses.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
}

var (
	everyIPv4 = netip.MustParsePrefix("0.0.0.0/0")
	everyIPv6 = netip.MustParsePrefix("::/0")
)

// Blocks returns the addresses that r permits, so that whoever judges packets
// says the same as whoever dials: an address is in a block if and only if
// Permits says so. They may overlap.
func (r Rules) Blocks() []Block {
	denied := carrying(r.denied)
	refused := slices.Concat(denied, carrying(special))
	if r.unrestricted {
		refused = denied
	}
	wanted := []Block{{everyIPv4, refused}, {everyIPv6, refused}}
	for _, allowed := range r.allowed {
		wanted = append(wanted, Block{allowed, denied})
	}
	var blocks []Block
	for _, w := range wanted {
		if b, ok := subtract(w.CIDR, w.Except); ok && !slices.ContainsFunc(blocks, func(o Block) bool { return o.CIDR == b.CIDR && slices.Equal(o.Except, b.Except) }) {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// carrying returns the ranges, and the ranges of those addresses that carry one
// of their addresses.
func carrying(ranges []netip.Prefix) []netip.Prefix {
	all := slices.Clone(ranges)
	for _, p := range ranges {
		if !p.Addr().Is4() {
			continue
		}
		inner := p.Addr().As4()
		for _, c := range carriers {
			outer := c.prefix.Addr().As16()
			copy(outer[c.at:], inner[:])
			all = append(all, netip.PrefixFrom(netip.AddrFrom16(outer), 8*c.at+p.Bits()))
		}
	}
	return all
}

// subtract returns p without the ranges, in order and none within another, and
// false where nothing is left. Of two ranges one holds the other or they have no
// address in common, so that each is an exception, or all, or nothing.
func subtract(p netip.Prefix, ranges []netip.Prefix) (Block, bool) {
	b := Block{CIDR: p}
	wideFirst := slices.SortedFunc(slices.Values(ranges), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	for _, r := range wideFirst {
		switch {
		case !r.Overlaps(p):
		case r.Bits() <= p.Bits():
			return Block{}, false
		case len(b.Except) == 0 || !r.Overlaps(b.Except[len(b.Except)-1]):
			b.Except = append(b.Except, r)
		}
	}
	return b, true
}
