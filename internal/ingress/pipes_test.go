// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs a test on a clock of its own: time passes only while all of its
// goroutines wait, however busy the machine is. Its worlds are connected by pipes,
// because a goroutine that waits for a socket stops that clock. A bridge gets one
// request on each pipe: tests of connections that are used again have sockets.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	besideOthers(t)
	synctest.Test(t, func(t *testing.T) {
		place(t, true)
		// Certificates are not valid at the time at which bubbles begin.
		time.Sleep(time.Until(time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// pipes is a network within a bubble.
type pipes struct {
	mu        sync.Mutex
	port      uint16 // The last that was given.
	listeners map[netip.AddrPort]*pipeListener
}

type pipeListener struct {
	of     *pipes
	addr   netip.AddrPort
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// pipe is one end of a connection.
type pipe struct {
	net.Conn

	local, remote netip.AddrPort
}

func (p *pipe) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(p.local) }
func (p *pipe) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(p.remote) }

func newPipes() *pipes { return &pipes{port: 1 << 15, listeners: map[netip.AddrPort]*pipeListener{}} }

// at returns the address with a port, another one where it is 0.
func (p *pipes) at(addr string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(addr)
	if err == nil && a.Port() == 0 {
		p.port++
		a = netip.AddrPortFrom(a.Addr(), p.port)
	}
	return a, err
}

func (p *pipes) listen(addr string) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, err := p.at(addr)
	if err != nil {
		return nil, err
	}
	if p.listeners[a] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &pipeListener{of: p, addr: a, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.listeners[a] = l
	return l, nil
}

func (p *pipes) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	p.mu.Lock()
	to, err := p.at(addr)
	l := p.listeners[to]
	from, _ := p.at("127.0.0.1:0")
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	near, far := bufferedPipe()
	select {
	case l.conns <- &pipe{far, to, from}:
		return &pipe{near, from, to}, nil
	case <-l.closed:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = near.Close(), far.Close()
	return nil, err
}

// bufferedPipe is net.Pipe with room for what is on its way, as sockets have.
func bufferedPipe() (near, far net.Conn) {
	near, a := net.Pipe()
	far, b := net.Pipe()
	go relay(a, b)
	go relay(b, a)
	return near, far
}

// relay carries bytes until one of the connections is closed, and then closes the other.
func relay(from, to net.Conn) {
	pieces := make(chan []byte, 64)
	go func() {
		defer close(pieces)
		b := make([]byte, 4<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			pieces <- bytes.Clone(b[:n])
		}
	}()
	for piece := range pieces {
		if _, err := to.Write(piece); err != nil {
			_ = from.Close()
		}
	}
	_ = to.Close()
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.of.mu.Lock()
		defer l.of.mu.Unlock()
		delete(l.of.listeners, l.addr)
	})
	return nil
}

func (l *pipeListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }
