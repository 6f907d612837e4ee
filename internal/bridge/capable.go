// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxCapable bounds the connections to one server that declare what modern
	// clients can do, besides the shared one. A user rarely has more calls under
	// way at a server that asks. As many again may be made where there is none
	// yet for the capabilities: clients of a user hardly differ in so many ways.
	maxCapable = 8
	// capableIdle is how long such a connection is kept for the next call. It
	// costs a server little, and calls come in bursts.
	capableIdle = time.Minute
)

// capable holds connections to legacy servers for modern clients that can be
// asked. A legacy server learns what its client can do when it is connected to,
// so there is a connection for each set of capabilities; and it need not say
// which call a question belongs to, so each has one call at a time as long as
// there are not too many.
type capable struct {
	bridge *Bridge
	idle   time.Duration

	mu      sync.Mutex
	leases  map[*upstream][]*lease
	closing bool // whether something closes the connections when the bridge ends
}

// lease is one connection and how many calls it has.
type lease struct {
	key   string        // the capabilities
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	calls int
	timer *time.Timer // closes it when it has been idle
}

func newCapable(b *Bridge) *capable {
	return &capable{bridge: b, idle: capableIdle, leases: map[*upstream][]*lease{}}
}

// askable returns what a modern client said that a server may ask of it, nil for
// nothing or where the protocol has no way to ask.
func (q *query) askable() *mcp.ClientCapabilities {
	switch q.method {
	case methodCallTool, methodGetPrompt, methodReadResource:
	default:
		return nil
	}
	if q.era != modern {
		return nil
	}
	raw, err := json.Marshal(q.meta[metaClientCaps])
	if err != nil {
		return nil
	}
	declared, ok := clientCapabilities(raw)
	if !ok || declared.Elicitation == nil && declared.Sampling == nil && declared.RootsV2 == nil {
		return nil
	}
	caps := &mcp.ClientCapabilities{Elicitation: declared.Elicitation, Sampling: declared.Sampling}
	if declared.RootsV2 != nil {
		caps.RootsV2 = &mcp.RootCapabilities{} // A modern client does not tell that they changed.
	}
	return caps
}

// connect returns a connection to the legacy server u that declares caps. The
// returned function gives it back.
func (c *capable) connect(ctx context.Context, u *upstream, caps *mcp.ClientCapabilities) (*link, func(), error) {
	key, err := json.Marshal(capsOf(caps))
	if err != nil {
		return nil, nil, err
	}
	l, dials := c.take(u, string(key))
	if l == nil {
		// All are busy with other capabilities: the call is made as for a client
		// that has none.
		shared, err := u.shared(ctx)
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
	if err == nil && c.bridge.ctx.Err() != nil {
		err = &unavailableError{server: u.server.Name}
	}
	if err != nil {
		c.give(u, l)
		return nil, nil, err
	}
	return l.link, func() { c.give(u, l) }, nil
}

// take returns a connection with a call more, nil if there is none and may be
// none. dials says that the caller must connect it.
func (c *capable) take(u *upstream, key string) (found *lease, dials bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune(u)
	all := c.leases[u]
	found = leastBusy(all, key)
	if found != nil && (found.calls == 0 || len(all) >= maxCapable) {
		found.calls++
		if found.timer != nil {
			found.timer.Stop()
		}
		return found, false
	}
	if len(all) >= maxCapable && !c.evict(u) && len(all) >= 2*maxCapable {
		return nil, false
	}
	if !c.closing {
		c.closing = true
		c.bridge.done.Go(c.end)
	}
	found = &lease{key: key, calls: 1, ready: make(chan struct{})}
	c.leases[u] = append(c.leases[u], found)
	return found, true
}

// leastBusy returns the connection with the capabilities that has the fewest
// calls, nil for none.
func leastBusy(all []*lease, key string) (found *lease) {
	for _, l := range all {
		if l.key == key && (found == nil || l.calls < found.calls) {
			found = l
		}
	}
	return found
}

// useless reports whether nothing can be done with the connection.
func (l *lease) useless() bool { return closed(l.ready) && (l.err != nil || l.link.dead()) }

// prune forgets the connections that are gone. The caller holds c.mu.
func (c *capable) prune(u *upstream) {
	c.leases[u] = slices.DeleteFunc(c.leases[u], (*lease).useless)
}

// evict closes a connection that has no call, and reports whether there was one.
// The caller holds c.mu.
func (c *capable) evict(u *upstream) bool {
	i := slices.IndexFunc(c.leases[u], func(l *lease) bool { return l.calls == 0 })
	if i < 0 {
		return false
	}
	c.leases[u][i].link.close()
	c.leases[u] = slices.Delete(c.leases[u], i, i+1)
	return true
}

// dial connects to u as a client with the capabilities.
func (c *capable) dial(ctx context.Context, u *upstream, caps *mcp.ClientCapabilities) (*link, error) {
	ctx, cancel := follow(c.bridge.ctx, ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, u.timing.connect)
	defer cancelTimeout()
	return u.open(ctx, identity{info: implementation, caps: caps}, &panel{})
}

// give ends a call on a connection, which is closed if none follows.
func (c *capable) give(u *upstream, l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.calls--
	switch {
	case l.useless():
		c.forget(u, l)
	case l.calls > 0 || c.bridge.ctx.Err() != nil:
	case l.timer != nil:
		l.timer.Reset(c.idle)
	default:
		l.timer = time.AfterFunc(c.idle, func() { c.expire(u, l) })
	}
}

// expire closes a connection that is idle.
func (c *capable) expire(u *upstream, l *lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.calls == 0 && c.forget(u, l) {
		l.link.close()
	}
}

// forget reports whether the connection was there. The caller holds c.mu.
func (c *capable) forget(u *upstream, l *lease) bool {
	i := slices.Index(c.leases[u], l)
	if i < 0 {
		return false
	}
	c.leases[u] = slices.Delete(c.leases[u], i, i+1)
	if len(c.leases[u]) == 0 {
		delete(c.leases, u)
	}
	return true
}

// end closes all connections when the bridge ends.
func (c *capable) end() {
	<-c.bridge.ctx.Done()
	c.mu.Lock()
	all := c.leases
	c.leases = map[*upstream][]*lease{}
	c.mu.Unlock()
	for _, leases := range all {
		for _, l := range leases {
			if l.timer != nil {
				l.timer.Stop()
			}
			// What is being connected to ends with the bridge. The server must hear
			// of the calls that do.
			if <-l.ready; l.err == nil {
				l.link.retire()
			}
		}
	}
}

// panel is the peer of a connection whose calls are those of modern clients that
// can be asked.
type panel struct{}

var _ peer = (*panel)(nil)

func (p *panel) request(ctx context.Context, l *link, method string, params mcp.Params) (mcp.Result, error) {
	x := l.origin(params)
	if x == nil {
		return nil, methodNotFound(method)
	}
	return x.question(ctx, method, params)
}

// notify passes on what belongs to the one call that there is. Of lists and
// resources the shared connection hears.
func (p *panel) notify(l *link, method string, params mcp.Params) {
	if method != noteMessage && method != noteElicitDone {
		return
	}
	l.mu.Lock()
	exchanges := slices.Clone(l.exchanges)
	l.mu.Unlock()
	if len(exchanges) != 1 {
		return
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return
	}
	exchanges[0].notify(method, raw)
}
