// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net"
	"net/netip"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// peers is a listener whose connections come from these addresses, and then ends.
type peers []net.Conn

func (p *peers) Accept() (net.Conn, error) {
	if len(*p) == 0 {
		return nil, net.ErrClosed
	}
	first := (*p)[0]
	*p = (*p)[1:]
	return first, nil
}
func (p *peers) Close() error   { return nil }
func (p *peers) Addr() net.Addr { return nil }

// peer is a connection from an address, whose other end is closed.
type peer struct {
	net.Conn

	address netip.Addr
}

func (p peer) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.address, 1)) }

func from(address string) net.Conn {
	near, far := net.Pipe()
	_ = far.Close()
	return peer{near, netip.MustParseAddr(address)}
}

func TestConnectionsAreBoundedBySource(t *testing.T) {
	const each = maxConnections / 16
	for name, test := range map[string]struct {
		peer string
		want int
	}{
		"an address":                  {"198.51.100.1", each},
		"a machine with IPv6":         {"2001:db8::1", each},
		"an address written as IPv6":  {"::ffff:198.51.100.1", each},
		"a load balancer":             {"192.0.2.7", each + 2},
		"a node of the cluster":       {"10.0.0.7", each + 2},
		"a port that is forwarded":    {"127.0.0.1", each + 2},
		"a neighbour without a route": {"fe80::1", each + 2},
	} {
		t.Run(name, func(t *testing.T) {
			var incoming peers
			for range each + 2 {
				incoming = append(incoming, from(test.peer))
			}
			l := NewListener(&incoming, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")})
			var open []net.Conn
			for {
				conn, err := l.Accept()
				if err != nil {
					break
				}
				open = append(open, conn)
			}
			if len(open) != test.want {
				t.Fatalf("%d connections are open, want %d", len(open), test.want)
			}
			for range 2 { // The second time gives nothing back.
				_ = open[0].Close()
			}
			incoming = peers{from(test.peer), from("203.0.113.1")}
			for _, what := range []string{"after one was closed", "of another source"} {
				must.Value(l.Accept())(t)
				if t.Failed() {
					t.Errorf("there is no connection %s", what)
				}
			}
		})
	}
}
