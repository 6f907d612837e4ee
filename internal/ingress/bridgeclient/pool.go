// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// IdlePerBridge is how many connections to one bridge wait for reuse. At
	// most as many are idle as calls ran at once shortly before. A user of the
	// largest tier has 64 of these; the rest is for installations that allow
	// more.
	IdlePerBridge = 256
	// idleInAll bounds the memory of idle connections, some 20 KiB each.
	idleInAll = 4096
	// idleTimeout is shorter than a bridge's own, so that it is we who close
	// an idle connection: a server that closes one while a call is on its way
	// leaves open whether the call ran.
	idleTimeout = 30 * time.Second
	// expireEvery is how exactly idleTimeout is kept; older ones are never used.
	expireEvery = 5 * time.Second
)

// pool keeps the connections to bridges. Each belongs to the one pod that has
// proved itself on it. It is keyed by UIDs, which are never used twice, and not
// by the address alone, which the next tenant's pod may get.
type pool struct {
	dialer *dialer
	config *h1.Config

	mu    sync.Mutex
	idle  map[Pod][]*pooledConn // The most recently used last.
	count int
	// sweeper is armed while there are idle connections.
	sweeper *time.Timer
	closed  bool
}

// pooledConn is a connection with the pod that it leads to.
type pooledConn struct {
	conn *h1.Conn
	pool *pool
	to   Pod
	// since is when it became idle.
	since time.Time
}

func newPool(d *dialer) *pool {
	return &pool{dialer: d, idle: map[Pod][]*pooledConn{}, config: &h1.Config{Header: answerFields, Trailer: trailerFields}}
}

// send carries a request to a bridge. It fails with NotSentError if nothing of it
// has left. Only such a failure on a connection from the pool is answered by
// another try; after a byte has left, nobody knows what the bridge did with it.
func (p *pool) send(ctx context.Context, to route.Backend, r h1.Request) (*http.Response, error) {
	for {
		l := p.take(PodOf(to), time.Now())
		pooled := l != nil
		if !pooled {
			var err error
			if l, err = p.dial(ctx, to); err != nil {
				return nil, err
			}
		}
		res, err := l.conn.Do(ctx, r)
		switch {
		case err == nil:
			return res, nil
		case !errors.Is(err, h1.ErrNotSent):
			return nil, err
		case !pooled:
			return nil, &NotSentError{ReasonSend, err}
		}
	}
}

func (p *pool) address(b route.Backend) string { return p.dialer.address(b) }

func (p *pool) dial(ctx context.Context, to route.Backend) (*pooledConn, error) {
	tls, records, err := p.dialer.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	l := &pooledConn{pool: p, to: PodOf(to)}
	l.conn = h1.NewConn(tls, records, p.config, l)
	return l, nil
}

// take returns a connection that may be used now, the one that was used last
// first, or nil.
func (p *pool) take(to Pod, now time.Time) *pooledConn {
	for {
		l := p.pop(to)
		if l == nil || now.Sub(l.since) < idleTimeout && l.conn.Usable() {
			return l
		}
		l.conn.Close()
	}
}

func (p *pool) pop(to Pod) *pooledConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.idle[to]
	if len(lines) == 0 {
		return nil
	}
	last := len(lines) - 1
	l := lines[last]
	lines[last] = nil
	// An empty slice stays until the sweep: its next line needs no new one.
	p.idle[to] = lines[:last]
	p.count--
	return l
}

// Keep implements h1.Home.
func (l *pooledConn) Keep() {
	l.since = time.Now()
	if !l.pool.put(l) {
		l.conn.Close()
	}
}

func (p *pool) put(l *pooledConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.idle[l.to]
	if p.closed || p.count >= idleInAll || len(lines) >= IdlePerBridge {
		return false
	}
	p.idle[l.to] = append(lines, l)
	p.count++
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(expireEvery, p.sweep)
	}
	return true
}

// sweep closes what has been idle for too long.
func (p *pool) sweep() {
	for _, l := range p.expired(time.Now()) {
		l.conn.Close()
	}
}

func (p *pool) expired(now time.Time) (old []*pooledConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, lines := range p.idle {
		n := 0
		for n < len(lines) && now.Sub(lines[n].since) >= idleTimeout {
			n++
		}
		old = append(old, lines[:n]...)
		if p.idle[to] = lines[n:]; len(lines) == n {
			delete(p.idle, to)
		}
	}
	p.count -= len(old)
	p.sweeper = nil
	if len(p.idle) > 0 && !p.closed {
		p.sweeper = time.AfterFunc(expireEvery, p.sweep)
	}
	return old
}

// closeIdle ends the idle connections.
func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lines := range p.idle {
		for _, l := range lines {
			l.conn.Close()
		}
	}
	clear(p.idle)
	p.count = 0
}

// close ends the idle connections, and the others when their answers end.
func (p *pool) close() {
	p.closeIdle()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.sweeper != nil {
		p.sweeper.Stop()
	}
}
