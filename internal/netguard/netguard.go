// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netguard decides which addresses a bridge may connect to. Users choose the servers of a
// bridge, so without this check a bridge would give them access to the cluster's network.
//
// The check concerns the address that is dialled, not a name or a URL: it also covers DNS answers
// and redirects. The package is pure; callers check an address before they dial it.
package netguard

import (
	"fmt"
	"net/netip"
	"strings"
)

// special are the ranges outside of the public Internet: the registries of special-purpose
// addresses for IPv4 and IPv6 (RFC 6890 and its updates), multicast, reserved ranges, and the
// site-local addresses that RFC 3879 deprecated. 64:ff9b:1::/48 (RFC 8215) is included, because
// only the network that uses this NAT64 prefix knows where the IPv4 address is embedded.
// 168.63.129.16 is included, because Azure's platform serves settings to every virtual machine at
// this public address (Microsoft Learn, "What is IP address 168.63.129.16?"). ::/80 contains both
// notations of IPv4 in IPv6 (RFC 4291, 2.5.5): one is obsolete, and the other stands for an IPv4
// address and never appears in packets; nothing else of it is assigned.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"168.63.129.16/32", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/80", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

// carrier is a range of IPv6 addresses that embed an IPv4 address, to which the connection finally
// leads.
type carrier struct {
	prefix netip.Prefix
	at     int // where the IPv4 address starts, in bytes
}

var carriers = []carrier{
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT (RFC 2765)
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4 (RFC 3056)
}

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// Public reports whether a is an address of the public Internet. An embedded address must be
// public, too.
func Public(a netip.Addr) bool {
	a = plain(a)
	if !a.IsValid() || !a.IsGlobalUnicast() || within(special, a) {
		return false
	}
	inner, carries := carried(a)
	return !carries || Public(inner)
}

// plain returns a as it is dialled: without a zone, which only selects a network interface, and as
// IPv4 if it is an IPv4-mapped address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// carried returns the IPv4 address that a embeds.
func carried(a netip.Addr) (netip.Addr, bool) {
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[c.at : c.at+4])), true
		}
	}
	return netip.Addr{}, false
}

func within(ranges []netip.Prefix, a netip.Addr) bool {
	for _, p := range ranges {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Rules are an installation's rules on addresses. The zero Rules permit public addresses.
type Rules struct {
	allowed, denied []netip.Prefix
	unrestricted    bool
}

// New returns rules that permit the ranges of allow, in CIDR notation, in addition to public
// addresses, or all addresses if unrestricted is set. The ranges of deny are always refused.
func New(allow, deny []string, unrestricted bool) (Rules, error) {
	allowed, err := parse(allow)
	if err != nil {
		return Rules{}, fmt.Errorf("parse allowed address range: %w", err)
	}
	denied, err := parse(deny)
	if err != nil {
		return Rules{}, fmt.Errorf("parse denied address range: %w", err)
	}
	return Rules{allowed: allowed, denied: denied, unrestricted: unrestricted}, nil
}

func parse(texts []string) (ranges []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		ranges = append(ranges, p.Masked())
	}
	return ranges, nil
}

// Unrestricted reports whether every address is permitted that is not denied.
func (r Rules) Unrestricted() bool { return r.unrestricted }

// Permits reports whether connections to a are permitted. An allowed range does not include IPv6
// addresses that embed one of its addresses.
func (r Rules) Permits(a netip.Addr) bool {
	if r.denies(a) {
		return false
	}
	return r.unrestricted || a.IsValid() && within(r.allowed, plain(a)) || Public(a)
}

// PermitsPlain reports whether secrets may be sent to a without encryption: it is not on the
// public Internet, or is in an allowed range.
func (r Rules) PermitsPlain(a netip.Addr) bool {
	return r.Permits(a) && (!Public(a) || within(r.allowed, plain(a)))
}

// denies reports whether a, or the address that it embeds, is denied.
func (r Rules) denies(a netip.Addr) bool {
	a = plain(a)
	inner, carries := carried(a)
	return within(r.denied, a) || carries && r.denies(inner)
}

// PermitsHost reports whether a proxy, which resolves names by its own rules, may connect to host.
// Names are permitted. An address must be permitted and have the usual notation, because some
// programs parse 0x7f.1 as an address and others as a name.
func (r Rules) PermitsHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return r.Permits(a)
	}
	// An unusual notation of an address cannot be compared with the denied ranges.
	if r.unrestricted && len(r.denied) == 0 {
		return true
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" || last == "localhost" || strings.ContainsAny(name, ":%") {
		return false
	}
	// No top-level domain starts with a digit, but the last part of every IPv4 notation does
	// (WHATWG URL, "ends in a number").
	return last[0] < '0' || last[0] > '9'
}
