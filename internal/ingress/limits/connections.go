// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net"
	"net/netip"
	"sync"
)

// maxConnections bounds the connections of sources that are no proxies. One address may have
// a sixteenth, 1024.
const maxConnections = 16384

// NewListener returns l without the connections of which a source has too many. Those of
// trusted proxies, and of private networks, are not counted: many users can be behind one.
func NewListener(l net.Listener, proxies []netip.Prefix) net.Listener {
	return &listener{l, NewSourceMemory(maxConnections), proxies}
}

type listener struct {
	net.Listener

	connections *SourceMemory
	proxies     []netip.Prefix
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // It is the listener's own error.
		}
		peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil || l.mayBeMany(peer.Addr().Unmap()) {
			return conn, nil //nolint:nilerr // A peer without an address has no source to count.
		}
		place := l.connections.For(peer.Addr())
		if place.Reserve(1) == nil {
			return &countedConn{Conn: conn, giveBack: sync.OnceFunc(place.Release)}, nil
		}
		_ = conn.Close()
	}
}

func (l *listener) mayBeMany(peer netip.Addr) bool {
	return peer.IsPrivate() || peer.IsLoopback() || peer.IsLinkLocalUnicast() ||
		Within(l.proxies, peer)
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn

	giveBack func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.giveBack()
	return c.Conn.Close() //nolint:wrapcheck // It is the connection's own error.
}
