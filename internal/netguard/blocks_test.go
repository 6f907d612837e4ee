// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestARangeWithoutOthers(t *testing.T) {
	tests := map[string]struct {
		from, without, want string
	}{
		"nothing taken out":                  {"10.0.0.0/8", "", "10.0.0.0/8"},
		"a range within":                     {"10.0.0.0/8", "10.96.0.1/32", "10.0.0.0/8 10.96.0.1/32"},
		"a range beside":                     {"10.0.0.0/8", "11.0.0.0/8", "10.0.0.0/8"},
		"a range of the other family":        {"10.0.0.0/8", "fd00::/8", "10.0.0.0/8"},
		"all of it":                          {"10.0.0.0/8", "10.0.0.0/8", ""},
		"more than all of it":                {"10.0.0.0/8", "0.0.0.0/0", ""},
		"a range twice":                      {"10.0.0.0/8", "10.1.0.0/16 10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16"},
		"a range within another":             {"10.0.0.0/8", "10.1.2.0/24 10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16"},
		"two within one":                     {"10.0.0.0/8", "10.1.2.0/24 10.1.9.0/24 10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16"},
		"ranges in order":                    {"10.0.0.0/8", "10.2.0.0/16 10.1.0.0/16", "10.0.0.0/8 10.1.0.0/16 10.2.0.0/16"},
		"neighbours":                         {"10.0.0.0/8", "10.1.0.0/24 10.1.1.0/24", "10.0.0.0/8 10.1.0.0/24 10.1.1.0/24"},
		"an address of IPv6":                 {"fd00::/8", "fd00::1/128", "fd00::/8 fd00::1/128"},
		"one address, and that is taken out": {"10.0.0.1/32", "10.0.0.1/32", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if b, ok := subtract(netip.MustParsePrefix(tt.from), prefixes(strings.Fields(tt.without)...)); ok {
				got = b.CIDR.String()
				for _, e := range b.Except {
					got += " " + e.String()
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// sides returns the addresses at which the blocks could be wrong: the first and
// the last of each range that anybody names, and their neighbours.
func sides(r Rules) []netip.Addr {
	ranges := slices.Concat(carrying(special), carrying(r.allowed), carrying(r.denied), []netip.Prefix{everyIPv4, everyIPv6})
	for _, c := range carriers {
		ranges = append(ranges, c.prefix)
	}
	var all []netip.Addr
	for _, p := range ranges {
		first, last := p.Masked().Addr(), lastOf(p)
		all = append(all, first, first.Prev(), first.Next(), last, last.Prev(), last.Next())
	}
	return slices.DeleteFunc(all, func(a netip.Addr) bool { return !a.IsValid() })
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As16()
	for i := p.Bits() + 128 - p.Addr().BitLen(); i < 128; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last := netip.AddrFrom16(b)
	if p.Addr().Is4() {
		return last.Unmap()
	}
	return last
}

// expectSame compares what is in the blocks with what may be dialled.
func expectSame(t *testing.T, r Rules, addresses ...netip.Addr) {
	t.Helper()
	blocks := r.Blocks()
	for _, b := range blocks {
		for _, e := range b.Except {
			if e.Bits() <= b.CIDR.Bits() || !b.CIDR.Contains(e.Addr()) {
				t.Errorf("%s is no part of %s, and the API server would refuse it", e, b.CIDR)
			}
		}
	}
	for _, a := range append(addresses, sides(r)...) {
		// On the wire there is neither a zone nor IPv4 in IPv6's notation.
		a = plain(a)
		in := slices.ContainsFunc(blocks, func(b Block) bool { return b.CIDR.Contains(a) && !within(b.Except, a) })
		if permitted := r.Permits(a); in != permitted {
			t.Errorf("%s: in a block %v, may be dialled %v", a, in, permitted)
		}
	}
}

func TestPacketsAreJudgedAsDialsAre(t *testing.T) {
	tests := map[string]struct {
		allow, deny  []string
		unrestricted bool
	}{
		"what is public":                  {},
		"a cluster's Services":            {[]string{"10.96.0.0/16"}, []string{"10.96.0.1/32"}, false},
		"ranges that overlap":             {[]string{"10.0.0.0/8", "10.96.0.0/16"}, []string{"10.96.0.1/32"}, false},
		"a public range denied":           {nil, []string{"8.8.8.0/24"}, false},
		"a denied range within IPv6":      {[]string{"fd00::/8", "64:ff9b::/96"}, []string{"fd00::1/128", "8.8.0.0/16"}, false},
		"an allowed range denied":         {[]string{"10.1.0.0/16"}, []string{"10.0.0.0/8"}, false},
		"all of IPv4":                     {[]string{"0.0.0.0/0"}, []string{"169.254.0.0/16"}, false},
		"all of IPv6":                     {[]string{"::/0"}, []string{"fe80::/10"}, false},
		"everything":                      {nil, []string{"10.0.0.0/8"}, true},
		"nothing":                         {nil, []string{"0.0.0.0/0", "::/0"}, false},
		"a range in IPv6's notation":      {[]string{"::ffff:10.0.0.0/104"}, []string{"::ffff:10.1.0.0/112"}, false},
		"IPv6 that carries what is wide":  {[]string{"2002::/16"}, []string{"2002:a00::/24"}, false},
		"an address that is denied twice": {nil, []string{"1.1.1.1/32", "1.1.1.0/24", "1.1.1.1/32"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := must.Value(New(tt.allow, tt.deny, tt.unrestricted))(t)
			expectSame(t, r)
		})
	}
}

// FuzzPacketsAreJudgedAsDialsAre tries ranges that nobody thought of.
func FuzzPacketsAreJudgedAsDialsAre(f *testing.F) {
	f.Add([]byte{10, 0, 0, 0}, uint8(8), []byte{10, 96, 0, 1}, uint8(32), []byte{8, 8, 8, 8})
	f.Add([]byte{0xfd, 15: 0}, uint8(8), []byte{0, 0x64, 0xff, 0x9b, 15: 1}, uint8(96), []byte{0x20, 2, 10, 15: 1})
	f.Fuzz(func(t *testing.T, allow []byte, allowBits uint8, deny []byte, denyBits uint8, probe []byte) {
		var texts [2][]string
		for i, raw := range [][]byte{allow, deny} {
			if a, ok := netip.AddrFromSlice(raw); ok {
				bits := int([]uint8{allowBits, denyBits}[i])
				texts[i] = []string{netip.PrefixFrom(a, bits%(a.BitLen()+1)).String()}
			}
		}
		r := must.Value(New(texts[0], texts[1], false))(t)
		var probes []netip.Addr
		if a, ok := netip.AddrFromSlice(probe); ok {
			probes = append(probes, a)
		}
		expectSame(t, r, probes...)
	})
}
