// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"cmp"
	"net/netip"
	"slices"
)

// Block is an address range with exceptions. A NetworkPolicy describes addresses in this form.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
}

var (
	everyIPv4 = netip.MustParsePrefix("0.0.0.0/0")
	everyIPv6 = netip.MustParsePrefix("::/0")
)

// Blocks returns the addresses that r permits, so that a network policy and the dialling process
// agree: an address is in a block if and only if Permits returns true. Blocks may overlap.
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

// carrying returns the ranges, and the ranges of IPv6 addresses that embed one of their addresses.
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

// subtract returns p without the ranges, sorted and not nested, and false if nothing is left. Of
// two ranges, one contains the other or they are disjoint, so each range is an exception, or all
// of p, or irrelevant.
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
