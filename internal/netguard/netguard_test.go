// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"net/netip"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestOnlyPublicAddressesArePublic(t *testing.T) {
	tests := map[string]bool{
		"0.0.0.0": false, "0.255.255.255": false, "1.0.0.0": true,
		"9.255.255.255": true, "10.0.0.0": false, "10.255.255.255": false, "11.0.0.0": true,
		"100.63.255.255": true, "100.64.0.0": false, "100.127.255.255": false, "100.128.0.0": true,
		"126.255.255.255": true, "127.0.0.0": false, "127.0.0.1": false, "127.255.255.255": false, "128.0.0.0": true,
		"168.63.129.15": true, "168.63.129.16": false, "168.63.129.17": true,
		"169.253.255.255": true, "169.254.0.0": false, "169.254.169.254": false, "169.254.255.255": false, "169.255.0.0": true,
		"172.15.255.255": true, "172.16.0.0": false, "172.31.255.255": false, "172.32.0.0": true,
		"191.255.255.255": true, "192.0.0.0": false, "192.0.0.170": false, "192.0.0.255": false, "192.0.1.0": true,
		"192.0.2.0": false, "192.0.2.255": false, "192.0.3.0": true,
		"192.88.98.255": true, "192.88.99.1": false, "192.88.100.0": true,
		"192.167.255.255": true, "192.168.0.0": false, "192.168.255.255": false, "192.169.0.0": true,
		"198.17.255.255": true, "198.18.0.0": false, "198.19.255.255": false, "198.20.0.0": true,
		"198.51.99.255": true, "198.51.100.0": false, "198.51.100.255": false, "198.51.101.0": true,
		"203.0.112.255": true, "203.0.113.0": false, "203.0.113.255": false, "203.0.114.0": true,
		"223.255.255.255": true, "224.0.0.0": false, "224.0.0.1": false, "239.255.255.255": false,
		"240.0.0.0": false, "255.255.255.254": false, "255.255.255.255": false,
		"8.8.8.8": true, "1.1.1.1": true,

		"::": false, "::1": false, "::2": false, "::127.0.0.1": false, "::8.8.8.8": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:8.8.8.8": true,
		"::ffff:0:127.0.0.1": false, "::ffff:0:8.8.8.8": true,
		"64:ff9b::127.0.0.1": false, "64:ff9b::10.1.2.3": false, "64:ff9b::169.254.169.254": false, "64:ff9b::168.63.129.16": false, "64:ff9b::8.8.8.8": true,
		"64:ff9b:1::10.1.2.3": false, "64:ff9b:1::8.8.8.8": false, "64:ff9b:1:a00:0:100:808:808": false, "64:ff9b:1:2:3::10.0.0.1": false,
		"100::": false, "100::1": false, "100::ffff:ffff:ffff:ffff": false,
		"2001::1": false, "2001:0:1234::1": false, "2001:2::1": false, "2001:10::1": false, "2001:20::1": false,
		"2001:db8::1": false, "2001:db8:ffff::1": false, "2001:db7:ffff::1": true, "2001:4860:4860::8888": true,
		"2002:7f00:1::": false, "2002:0a00:0001::1": false, "2002:a9fe:a9fe::": false, "2002:c0a8:0101::1": false, "2002:0808:0808::1": true,
		"3fff::1": false, "5f00::1": false,
		"fbff::1": true, "fc00::": false, "fd00::1": false, "fdff:ffff::1": false,
		"fe00::1": true, "fe80::1": false, "febf::1": false, "fec0::1": false, "feff::1": false,
		"ff00::": false, "ff02::1": false, "ff0e::1": false,
		"2606:4700:4700::1111": true, "2a00:1450:4001:81b::200e": true,
		"fe80::1%eth0": false, "::1%lo": false, "::ffff:127.0.0.1%1": false, "fd00::1%x": false,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			a := netip.MustParseAddr(text)
			if got := Public(a); got != want {
				t.Errorf("public = %v, want %v", got, want)
			}
			expectSame(t, Rules{}, a)
		})
	}
	if Public(netip.Addr{}) {
		t.Error("no address is a public one")
	}
}

func TestTheInstallationAllowsMore(t *testing.T) {
	tests := map[string]struct {
		allow []string
		all   bool
		addr  string
		want  bool
	}{
		"nothing besides what is public":               {nil, false, "10.0.0.1", false},
		"what is public":                               {nil, false, "8.8.8.8", true},
		"a range":                                      {[]string{"10.0.0.0/8"}, false, "10.1.2.3", true},
		"a range, and not beside it":                   {[]string{"10.0.0.0/8"}, false, "192.168.0.1", false},
		"a range, and what is public":                  {[]string{"10.0.0.0/8"}, false, "8.8.8.8", true},
		"the second range":                             {[]string{"10.0.0.0/8", "192.168.0.0/16"}, false, "192.168.0.1", true},
		"a range whose host bits are set":              {[]string{"10.1.2.3/8"}, false, "10.9.9.9", true},
		"an address in IPv6's notation":                {[]string{"10.0.0.0/8"}, false, "::ffff:10.1.2.3", true},
		"a range in IPv6's notation":                   {[]string{"::ffff:10.0.0.0/104"}, false, "10.1.2.3", true},
		"not an address that carries one":              {[]string{"10.0.0.0/8"}, false, "64:ff9b::10.1.2.3", false},
		"a range of IPv6":                              {[]string{"fd00::/8"}, false, "fd12::1", true},
		"a range of IPv6, whatever the zone":           {[]string{"fe80::/10"}, false, "fe80::1%eth0", true},
		"all of IPv4, and not of IPv6":                 {[]string{"0.0.0.0/0"}, false, "fd00::1", false},
		"everything":                                   {nil, true, "127.0.0.1", true},
		"everything, multicast too":                    {nil, true, "ff02::1", true},
		"a range with loopback, and not the other one": {[]string{"127.0.0.0/8"}, false, "::1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := must.Value(New(tt.allow, nil, tt.all))(t)
			if got := r.Permits(netip.MustParseAddr(tt.addr)); got != tt.want {
				t.Errorf("permits = %v, want %v", got, tt.want)
			}
			if r.Unrestricted() != tt.all {
				t.Errorf("unrestricted = %v", r.Unrestricted())
			}
		})
	}
	if (Rules{}).Permits(netip.Addr{}) {
		t.Error("no address is permitted")
	}
	if _, err := New([]string{"10.0.0.0"}, nil, false); err == nil {
		t.Error("an address without a length is no range")
	}
}

func TestWhatIsDeniedIsNeverPermitted(t *testing.T) {
	deny := []string{"10.96.0.1/32", "1.1.1.0/24", "fd00::1/128", "::ffff:192.0.2.0/120"}
	for addr, want := range map[string]bool{
		"10.96.0.1": false, "10.96.0.2": true, "::ffff:10.96.0.1": false, "64:ff9b::10.96.0.1": false,
		"1.1.1.1": false, "1.1.2.1": true, "64:ff9b::1.1.1.1": false, "64:ff9b::1.1.2.1": true, "2002:0101:0101::1": false,
		"fd00::1": false, "fd00::1%eth0": false, "fd00::2": true, "192.0.2.1": false,
	} {
		for _, all := range []bool{false, true} {
			r := must.Value(New([]string{"10.96.0.0/16", "fd00::/8", "192.0.2.0/24"}, deny, all))(t)
			if got := r.Permits(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s, all %v: permits = %v, want %v", addr, all, got, want)
			}
			if got := r.PermitsHost(addr); got != want {
				t.Errorf("%s, all %v: a proxy may be asked for it: %v, want %v", addr, all, got, want)
			}
		}
	}
	free := must.Value(New(nil, deny, true))(t)
	if free.PermitsHost("0x0a.0x60.1") || !free.PermitsHost("mcp.example.com") {
		t.Error("a proxy is asked for what may be a denied address, or for no name")
	}
	if _, err := New(nil, []string{"10.0.0.1"}, true); err == nil {
		t.Error("an address without a length is no range")
	}
}

func TestSecretsGoUnencryptedToNoPublicAddress(t *testing.T) {
	for _, all := range []bool{false, true} {
		r := must.Value(New([]string{"10.96.0.0/16", "1.1.1.0/24"}, []string{"10.96.0.1/32"}, all))(t)
		for addr, want := range map[string]bool{
			"8.8.8.8": false, "::ffff:8.8.8.8": false, "64:ff9b::8.8.8.8": false, "2606:4700:4700::1111": false,
			"1.1.1.1": true, "10.96.0.2": true, "10.96.0.1": false, "127.0.0.1": all, "::1": all, "192.168.0.1": all, "169.254.169.254": all,
		} {
			if got := r.PermitsPlain(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s, all %v: %v, want %v", addr, all, got, want)
			}
		}
	}
}

func TestWhatAProxyMayBeAskedFor(t *testing.T) {
	tests := map[string]bool{
		"mcp.example.com": true, "mcp.example.com.": true, "a": true, "8.8.8.8": true, "2606:4700:4700::1111": true,
		"10.example.com": true, "0x7f.example": true,
		"": false, ".": false, "localhost": false, "LOCALHOST.": false, "x.localhost": false,
		"127.0.0.1": false, "127.0.0.1.": false, "10.0.0.1": false, "::1": false, "fe80::1%eth0": false, "::1%lo": false,
		"127.1": false, "0": false, "2130706433": false, "0x7f000001": false, "0x7f.1": false, "0177.0.0.1": false, "017700000001": false,
		"127.0.0.0x1": false, "127.0x0.1": false, "1.1.1.1.": false,
	}
	guarded := must.Value(New([]string{"192.168.0.0/16"}, nil, false))(t)
	tests["192.168.1.1"] = true
	for host, want := range tests {
		if got := guarded.PermitsHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	free, err := New(nil, nil, true)
	if err != nil || !free.PermitsHost("127.1") {
		t.Errorf("an unrestricted installation refuses: %v", err)
	}
}

// FuzzPublic holds that no way to write an IPv4 address into an IPv6 one makes
// it public.
func FuzzPublic(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Add([]byte{8, 8, 8, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 4 {
			return
		}
		inner := netip.AddrFrom4([4]byte(b[:4]))
		for _, c := range carriers {
			outer := c.prefix.Addr().As16()
			copy(outer[c.at:], b[:4])
			if Public(netip.AddrFrom16(outer)) != Public(inner) {
				t.Errorf("%v in %v", inner, c.prefix)
			}
		}
		mapped := netip.AddrFrom16(inner.As16())
		if Public(mapped) != Public(inner) {
			t.Errorf("%v", mapped)
		}
	})
}
