// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netguard decides which addresses a bridge may connect to. Its users
// choose the servers, so without it a bridge would be a way into the network
// that it runs in.
//
// The decision is about the address that is dialled, not about a name or a URL:
// whatever a name resolves to and wherever a redirect leads, the address is what
// the connection goes to. The package is pure; whoever dials asks it.
package netguard

import (
	"fmt"
	"net/netip"
	"strings"
)

// special are the ranges that are not the public Internet: the registries of
// special-purpose addresses for IPv4 and IPv6 (RFC 6890 and its updates), with
// multicast, what is reserved, and the site-local addresses that RFC 3879 took
// back. Of a network's own NAT64 (64:ff9b:1::/48, RFC 8215) only that network
// knows where in the address the IPv4 address stands, so it is one of them. So
// is 168.63.129.16, at which Azure's platform serves every virtual machine
// (Microsoft Learn, "What is IP address 168.63.129.16?"): it is registered as a
// public address, and gives a machine its settings. ::/80 holds both notations of
// IPv4 in IPv6 (RFC 4291, 2.5.5): one is obsolete, and the other stands for an
// address of IPv4 and is on no wire; nothing else of it is assigned.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"168.63.129.16/32", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/80", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

// carrier is a range of IPv6 addresses that hold an IPv4 address, which is what
// a connection reaches in the end.
type carrier struct {
	prefix netip.Prefix
	at     int // where the IPv4 address begins, in bytes
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

// Public reports whether a is an address of the public Internet. Of an address
// that carries another one, both must be.
func Public(a netip.Addr) bool {
	a = plain(a)
	if !a.IsValid() || !a.IsGlobalUnicast() || within(special, a) {
		return false
	}
	inner, carries := carried(a)
	return !carries || Public(inner)
}

// plain returns a as what it is dialled as: without a zone, which only chooses a
// network card, and as IPv4 where it is an IPv4 address in IPv6's notation.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// carried returns the IPv4 address that a holds.
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

// Rules are an installation's decision on addresses. The zero Rules permit what
// is public.
type Rules struct {
	allowed, denied []netip.Prefix
	unrestricted    bool
}

// New returns the rules by which the ranges of allow, in CIDR notation, are
// permitted besides what is public, or everything where unrestricted is set.
// Those of deny are not, whatever else is said of them.
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

// Permits reports whether a may be connected to. A range that is allowed is
// allowed as it stands: an address that carries one of its addresses is not.
func (r Rules) Permits(a netip.Addr) bool {
	if r.denies(a) {
		return false
	}
	return r.unrestricted || a.IsValid() && within(r.allowed, plain(a)) || Public(a)
}

// PermitsPlain reports whether secrets may be sent to a without encryption: it
// is not on the public Internet, or in a range that is allowed.
func (r Rules) PermitsPlain(a netip.Addr) bool {
	return r.Permits(a) && (!Public(a) || within(r.allowed, plain(a)))
}

// denies reports whether a is denied, also by the address that it carries.
func (r Rules) denies(a netip.Addr) bool {
	a = plain(a)
	inner, carries := carried(a)
	return within(r.denied, a) || carries && r.denies(inner)
}

// PermitsHost reports whether somebody else, who resolves names by rules that
// nobody here knows, may be asked to connect to host. Names may; an address must
// be permitted and be written in the usual way, since 0x7f.1 is an address to
// some and a name to others.
func (r Rules) PermitsHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return r.Permits(a)
	}
	// Of another spelling of an address nobody here can tell whether it is one
	// that is denied.
	if r.unrestricted && len(r.denied) == 0 {
		return true
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" || last == "localhost" || strings.ContainsAny(name, ":%") {
		return false
	}
	// No top-level domain begins with a digit, and every spelling of an IPv4
	// address has a last part that does (WHATWG URL, "ends in a number").
	return last[0] < '0' || last[0] > '9'
}
