// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
)

// maxForwards is how many proxies in front of us are believed, one after the
// other. Installations have one to three.
const maxForwards = 8

// Source returns the address of the client that sent r: the peer's, or where that
// is one of trusted, the proxies in front, the one that it tells of in
// X-Forwarded-For. It is the zero Addr where the peer has no IP address.
// IPv4 addresses in IPv6 form are returned as IPv4, and none has a zone.
func Source(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return sourceOf(plainAddr(peer.Addr()), r.Header["X-Forwarded-For"], trusted)
}

// sourceOf reads forwarded, the fields of X-Forwarded-For, from right to left:
// each proxy adds on the right whom it has the request from, so that an entry
// counts only as long as all on its right were written by proxies of ours.
// An entry that another sender wrote, or that is no address, ends the reading at
// the address before.
func sourceOf(peer netip.Addr, forwarded []string, trusted []netip.Prefix) netip.Addr {
	source := peer
	rest := strings.Join(forwarded, ",")
	for range maxForwards {
		if rest == "" || !limits.Within(trusted, source) {
			break
		}
		i := strings.LastIndexByte(rest, ',')
		next, ok := forwardedAddr(rest[i+1:])
		if !ok {
			break
		}
		source, rest = next, rest[:max(i, 0)]
	}
	return source
}

// forwardedAddr reads one entry of X-Forwarded-For, which some proxies write
// with the port.
func forwardedAddr(entry string) (netip.Addr, bool) {
	entry = strings.Trim(entry, " \t")
	if addr, err := netip.ParseAddr(entry); err == nil {
		return plainAddr(addr), true
	}
	if both, err := netip.ParseAddrPort(entry); err == nil {
		return plainAddr(both.Addr()), true
	}
	inside, bracketed := strings.CutPrefix(entry, "[")
	addr, err := netip.ParseAddr(strings.TrimSuffix(inside, "]"))
	return plainAddr(addr), bracketed && err == nil
}

// plainAddr has one form for each address, so that one client is one source.
func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
