// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stateless"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// clientSet are the clients and their sessions.
type clientSet struct {
	life      *life
	set       *serverSet
	directory *directory
	// observe observes a message to a client before it is sent.
	observe func(ctx context.Context, method string, params mcp.Params)

	calls session.Calls
	// signing signs the state that clients send back.
	signing *session.Signing
	// listeners are the modern clients that listen for changes.
	listeners *stateless.Listeners

	mu       sync.Mutex // guards what follows
	sessions map[*session.Session]*clientSession
	changes  map[string]bool // the notifications that are about to be sent to sessions
}

// observed returns send with each message observed.
func (c *clientSet) observed(send message.Send) message.Send {
	return func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
		c.observe(ctx, method, params)
		return send(ctx, method, params)
	}
}

// join completes a request in a session.
func (c *clientSet) join(ctx context.Context, q *message.Request, p *session.Session) {
	if s := c.session(p); s != nil && q.Era == message.Legacy {
		q.Session = s
	}
	q.Hops = session.HopsOf(ctx, q.Header, q.Meta)
	delete(q.Meta, message.MetaHops)
}

// open registers a new legacy session until its client leaves. A session that opens while the
// bridge closes ends at once, because Close may miss it.
func (c *clientSet) open(p *session.Session, hops string) *clientSession {
	s := &clientSession{clients: c, client: p, who: c.identify(p.Params(), hops), bindings: map[*upstream.Server]*upstreamBinding{}}
	stop := context.AfterFunc(c.life.ctx, func() { _ = p.Close() })
	if !c.life.admit() {
		s.ended = true
		return s
	}
	c.mu.Lock()
	c.sessions[p] = s
	c.mu.Unlock()
	go func() {
		defer c.life.leave()
		_ = p.Wait()
		stop()
		c.mu.Lock()
		delete(c.sessions, p)
		c.mu.Unlock()
		s.end()
	}()
	return s
}

// resume reconnects the sessions that are subscribed to resources of u: their clients may send no
// request for hours that would reconnect them.
func (c *clientSet) resume(u *upstream.Server) {
	for _, s := range c.allSessions() {
		c.life.run(func() {
			s.resume(u)
			s.loggedIn(u.Config.Name)
		})
	}
}

func (c *clientSet) session(p *session.Session) *clientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[p]
}

// inform notifies the sessions of a change, each in its own goroutine, because a client that does
// not read would block the others.
func (c *clientSet) inform(note string, sessions []*clientSession) {
	for _, s := range sessions {
		c.life.run(func() { _, _ = s.Send(c.life.ctx, note, &message.Params{}) })
	}
}

// changed tells clients that the bridge itself has changed a list.
func (c *clientSet) changed(note string) {
	c.announce(note)
	if c.set.transparent() {
		c.inform(note, c.listening())
	}
}

// listChanged tells clients that a list of a server has changed.
func (c *clientSet) listChanged(note string) {
	c.announce(note)
	switch only := c.set.only(); {
	case only == nil:
	case only.Audited():
		// The server does not know how the bridge changed its lists.
		c.inform(note, c.listening())
	default:
		c.inform(note, c.unconnected())
	}
}

// announce notifies clients that a list changed.
func (c *clientSet) announce(note string) {
	c.listeners.Changed(note)
	c.changedSoon(note)
}

// together is how long changes of lists are collected: several servers often change their lists at once.
const together = 10 * time.Millisecond

// changedSoon notifies the sessions of a changed list. With one server, those that get
// its notifications from the server get none.
func (c *clientSet) changedSoon(note string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[note] || !c.life.admit() {
		return
	}
	c.changes[note] = true
	time.AfterFunc(together, func() {
		defer c.life.leave()
		c.mu.Lock()
		delete(c.changes, note)
		c.mu.Unlock()
		transparent := c.set.transparent()
		c.inform(note, slices.DeleteFunc(c.allSessions(), func(s *clientSession) bool {
			return transparent && s.who.Watch
		}))
	})
}

// unconnected returns the sessions without a connection to the one server, which therefore cannot
// notify them of changed lists. Sessions that began with several servers get notifications from
// the bridge.
func (c *clientSet) unconnected() []*clientSession {
	return slices.DeleteFunc(c.allSessions(), func(s *clientSession) bool { return !s.who.Watch || len(s.links()) > 0 })
}

// identify returns the identity with which a client's session connects to servers.
func (c *clientSet) identify(params *mcp.InitializeParams, hops string) upstream.ClientIdentity {
	who := upstream.ClientIdentity{Info: params.ClientInfo, Capabilities: params.Capabilities, Watch: c.set.transparent(), Hops: hops}
	if who.Info == nil {
		who.Info = message.Implementation
	}
	return who
}

// restored takes over a session of a previous process. The client's lists may be out of date, so
// it is notified of changes.
func (c *clientSet) restored(p *session.Session, hops string) {
	s := c.open(p, hops)
	// In a goroutine, because a client that does not read would block.
	c.life.run(func() {
		for _, note := range methods.Changes {
			_, _ = s.Send(c.life.ctx, note, &message.Params{})
		}
	})
}

// transfer moves the subscriptions of all sessions from a server to its successor, which is nil for one
// that was removed.
func (c *clientSet) transfer(before, after *upstream.Server) {
	for _, s := range c.allSessions() {
		s.transfer(before, after)
	}
}

func (c *clientSet) allSessions() []*clientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.sessions))
}

// listening returns the sessions that get change notifications from the server of a transparent
// bridge, not from the bridge.
func (c *clientSet) listening() []*clientSession {
	return slices.DeleteFunc(c.allSessions(), func(s *clientSession) bool { return !s.who.Watch })
}

// endSubscriptions ends all subscriptions of a closing session.
func (c *clientSet) endSubscriptions(s *clientSession) {
	for _, u := range c.set.servers() {
		if !u.SharedBySessions() {
			continue
		}
		for _, uri := range u.Subscriptions.RemoveSession(s) {
			ctx, cancel := context.WithTimeout(c.life.ctx, u.Timing.Timeout)
			_ = u.Unsubscribe(ctx, uri)
			cancel()
		}
	}
}

// subscribe subscribes a modern client to a resource. Such clients share one subscription at the server.
func (c *clientSet) subscribe(ctx context.Context, uri string) (end func(), err error) {
	q := &message.Request{Params: &mcp.SubscribeParams{URI: uri}}
	u, err := c.directory.route(ctx, q)
	if err != nil {
		return nil, err
	}
	defer c.set.leave(u)
	if err := waitedInVain(q, u); err != nil {
		return nil, err
	}
	subscribing, cancel := egress.FollowContext(c.life.ctx, ctx)
	defer cancel()
	if err := u.Subscribe(subscribing, uri); err != nil {
		return nil, fault.ToRPC(err, u.Config.Name)
	}
	return func() { c.unsubscribe(ctx, uri) }, nil
}

// unsubscribe ends what subscribe began.
func (c *clientSet) unsubscribe(ctx context.Context, uri string) {
	u, err := c.directory.route(ctx, &message.Request{Params: &mcp.UnsubscribeParams{URI: uri}})
	if err != nil {
		return // The server is gone.
	}
	defer c.set.leave(u)
	// The stream of the subscription has ended, and its context with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.Timing.Timeout)
	defer cancel()
	_ = u.Unsubscribe(ctx, uri)
}
