// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestSource(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tt := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"nobody in front", "192.0.2.1:1000", nil, "192.0.2.1"},
		{"a stranger's claim", "192.0.2.1:1000", []string{"198.51.100.7"}, "192.0.2.1"},
		{"a proxy that tells nothing", "10.0.0.1:1000", nil, "10.0.0.1"},
		{"a proxy that tells", "10.0.0.1:1000", []string{"198.51.100.7"}, "198.51.100.7"},
		{"a claim before the proxy's word", "10.0.0.1:1000", []string{"127.0.0.1, 198.51.100.7"}, "198.51.100.7"},
		{"a trusted address claimed before the proxy's word", "10.0.0.1:1000", []string{"10.0.0.9, 198.51.100.7"}, "198.51.100.7"},
		{"two proxies", "10.0.0.1:1000", []string{"198.51.100.7, 10.2.2.2"}, "198.51.100.7"},
		{"two proxies in two fields", "10.0.0.1:1000", []string{"203.0.113.9, 198.51.100.7", "10.2.2.2"}, "198.51.100.7"},
		{"only proxies", "10.0.0.1:1000", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"no address", "10.0.0.1:1000", []string{"unknown"}, "10.0.0.1"},
		{"no address behind the second proxy", "10.0.0.1:1000", []string{"198.51.100.7, _hidden, 10.2.2.2"}, "10.2.2.2"},
		{"an empty entry", "10.0.0.1:1000", []string{"198.51.100.7,"}, "10.0.0.1"},
		{"an empty field", "10.0.0.1:1000", []string{""}, "10.0.0.1"},
		{"a port", "10.0.0.1:1000", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"IPv6", "[fd00::1]:1000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv6 with a port", "[fd00::1]:1000", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"IPv6 in brackets", "[fd00::1]:1000", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"a bracket that is not closed", "[fd00::1]:1000", []string{"2001:db8::7]"}, "fd00::1"},
		{"IPv4 in IPv6 is IPv4", "[::ffff:10.0.0.1]:1000", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"a zone is no part of who it is", "[fe80::1%eth0]:1000", nil, "fe80::1"},
		{"more proxies than there are", "10.0.0.1:1000", []string{"198.51.100.7" + strings.Repeat(", 10.9.9.9", maxForwards)}, "10.9.9.9"},
		{"a peer without an address", "@", []string{"198.51.100.7"}, "invalid IP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
			if got := Source(r, trusted).String(); got != tt.want {
				t.Errorf("source = %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzSource: whatever is claimed, the source of a stranger is the stranger,
// and behind one proxy it is that proxy or what it wrote last.
func FuzzSource(f *testing.F) {
	for _, claim := range []string{"", ",", "198.51.100.7", "a, 10.0.0.1", "[::1]:80, ::ffff:10.0.0.1", "10.0.0.1,10.0.0.1%x", "[[::1]]"} {
		f.Add(claim)
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	stranger, proxy := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("10.0.0.1")
	client := netip.MustParseAddr("203.0.113.5")
	f.Fuzz(func(t *testing.T, claim string) {
		if got := sourceOf(stranger, []string{claim}, trusted); got != stranger {
			t.Errorf("a stranger became %s", got)
		}
		if got := sourceOf(proxy, []string{claim, client.String()}, trusted); got != client {
			t.Errorf("a proxy's client became %s", got)
		}
		if got := sourceOf(proxy, []string{claim}, trusted); !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("source = %s", got)
		}
	})
}
