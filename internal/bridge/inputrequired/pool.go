// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inputrequired

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// MaxPooled limits the connections to one server, besides the shared one, that declare the
	// capabilities of modern clients. A user rarely has more simultaneous calls at a server that
	// asks questions. A set of capabilities without a connection may exceed the limit, up to
	// twice; clients of one user have few different sets.
	MaxPooled = 8
	// capableIdle is how long an unused connection is kept for the next call. An idle connection
	// costs the server little, and calls come in bursts.
	capableIdle = time.Minute
)

// Pool holds connections to legacy servers for modern clients that can be asked. A legacy server
// learns the client's capabilities when the connection opens, so each set of capabilities has its
// own connections. A server's question need not name its call, so each connection has one call at
// a time until the pool is full.
type Pool struct {
	life context.Context // of the bridge
	run  func(func())
	Idle time.Duration

	mu      sync.Mutex
	conns   map[*upstream.Server][]*pooledConn
	closing bool // whether a goroutine closes the connections when the bridge ends
}

// pooledConn is one connection and its number of calls.
type pooledConn struct {
	key   string        // the encoded capabilities
	ready chan struct{} // closed when link or err is set
	link  *upstream.Conn
	err   error
	calls int
	timer *time.Timer // closes the connection after capableIdle
}

// NewPool returns the connections of a bridge, until life ends. run starts a function in the
// background; the bridge waits for it when it closes.
func NewPool(life context.Context, run func(func())) *Pool {
	return &Pool{life: life, run: run, Idle: capableIdle, conns: map[*upstream.Server][]*pooledConn{}}
}

// Get returns a connection to the legacy server u that declares caps. The returned function
// releases it.
func (c *Pool) Get(ctx context.Context, u *upstream.Server, caps *mcp.ClientCapabilities) (*upstream.Conn, func(), error) {
	key, err := json.Marshal(message.EncodeCapabilities(caps))
	if err != nil {
		return nil, nil, err
	}
	l, dials := c.acquire(u, string(key))
	if l == nil {
		// All connections are busy with other capabilities: the call uses the shared connection,
		// as for a client without capabilities.
		shared, err := u.Shared(ctx)
		return shared, func() {}, err
	}
	if dials {
		l.link, l.err = c.dial(ctx, u, caps)
		close(l.ready)
	}
	select {
	case <-l.ready:
		err = l.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && c.life.Err() != nil {
		err = &fault.Unavailable{Server: u.Config.Name}
	}
	if err != nil {
		c.release(u, l)
		return nil, nil, err
	}
	return l.link, func() { c.release(u, l) }, nil
}

// acquire returns a connection and counts a call on it. It returns nil if the pool is full. dials
// says that the caller must connect it.
func (c *Pool) acquire(u *upstream.Server, key string) (found *pooledConn, dials bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune(u)
	all := c.conns[u]
	found = leastBusy(all, key)
	if found != nil && (found.calls == 0 || len(all) >= MaxPooled) {
		found.calls++
		if found.timer != nil {
			found.timer.Stop()
		}
		return found, false
	}
	if len(all) >= MaxPooled && !c.evict(u) && len(all) >= 2*MaxPooled {
		return nil, false
	}
	if !c.closing {
		c.closing = true
		c.run(c.closeAll)
	}
	found = &pooledConn{key: key, calls: 1, ready: make(chan struct{})}
	c.conns[u] = append(c.conns[u], found)
	return found, true
}

// leastBusy returns the connection with these capabilities that has the fewest calls, or nil.
func leastBusy(all []*pooledConn, key string) (found *pooledConn) {
	for _, l := range all {
		if l.key == key && (found == nil || l.calls < found.calls) {
			found = l
		}
	}
	return found
}

// isDead reports whether the connection is unusable.
func (l *pooledConn) isDead() bool {
	return inflight.Closed(l.ready) && (l.err != nil || l.link.Life.Dead())
}

// prune removes dead connections. The caller holds c.mu.
func (c *Pool) prune(u *upstream.Server) {
	c.conns[u] = slices.DeleteFunc(c.conns[u], (*pooledConn).isDead)
}

// evict closes one idle connection, and reports whether it found one. The caller holds c.mu.
func (c *Pool) evict(u *upstream.Server) bool {
	i := slices.IndexFunc(c.conns[u], func(l *pooledConn) bool { return l.calls == 0 })
	if i < 0 {
		return false
	}
	c.conns[u][i].link.Life.Close()
	c.conns[u] = slices.Delete(c.conns[u], i, i+1)
	return true
}

// dial connects to u with these client capabilities.
func (c *Pool) dial(ctx context.Context, u *upstream.Server, caps *mcp.ClientCapabilities) (*upstream.Conn, error) {
	ctx, cancel := egress.FollowContext(c.life, ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, u.Timing.Connect)
	defer cancelTimeout()
	return u.Dial(ctx, upstream.ClientIdentity{Info: message.Implementation, Capabilities: caps}, &PoolHandler{})
}

// release ends a call on a connection. An unused connection is closed after capableIdle.
func (c *Pool) release(u *upstream.Server, l *pooledConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.calls--
	switch {
	case l.isDead():
		c.forget(u, l)
	case l.calls > 0 || c.life.Err() != nil:
	case l.timer != nil:
		l.timer.Reset(c.Idle)
	default:
		l.timer = time.AfterFunc(c.Idle, func() { c.expire(u, l) })
	}
}

// expire closes an idle connection.
func (c *Pool) expire(u *upstream.Server, l *pooledConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.calls == 0 && c.forget(u, l) {
		l.link.Life.Close()
	}
}

// forget removes the connection, and reports whether it was in the pool. The caller holds c.mu.
func (c *Pool) forget(u *upstream.Server, l *pooledConn) bool {
	i := slices.Index(c.conns[u], l)
	if i < 0 {
		return false
	}
	c.conns[u] = slices.Delete(c.conns[u], i, i+1)
	if len(c.conns[u]) == 0 {
		delete(c.conns, u)
	}
	return true
}

// closeAll closes all connections when the bridge ends.
func (c *Pool) closeAll() {
	<-c.life.Done()
	c.mu.Lock()
	all := c.conns
	c.conns = map[*upstream.Server][]*pooledConn{}
	c.mu.Unlock()
	for _, leases := range all {
		for _, l := range leases {
			if l.timer != nil {
				l.timer.Stop()
			}
			// Connections that are still opening end with the bridge. The server must be told of
			// cancelled calls.
			if <-l.ready; l.err == nil {
				l.link.Life.Retire()
			}
		}
	}
}

// PoolHandler handles messages on connections for modern clients that can be asked.
type PoolHandler struct{}

var _ upstream.RequestHandler = (*PoolHandler)(nil)

// HandleRequest passes a question of the server to the client of its call.
func (p *PoolHandler) HandleRequest(ctx context.Context, l *upstream.Conn, method string, params *message.Params) (mcp.Result, error) {
	x := l.Calls.Origin(params)
	if x == nil {
		return nil, fault.MethodNotFound(method)
	}
	return x.Question(ctx, method, params)
}

// HandleNotification passes a notification to the connection's call if it has exactly one. Changes
// of lists and resources reach the bridge on the shared connection.
func (p *PoolHandler) HandleNotification(l *upstream.Conn, method string, params *message.Params) {
	if method != methods.LogMessage && method != methods.ElicitationComplete {
		return
	}
	x := l.Calls.OnlyCall()
	if x == nil {
		return
	}
	x.Notify(method, params.Raw)
}

// Size returns the number of connections to u.
func (c *Pool) Size(u *upstream.Server) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns[u])
}
