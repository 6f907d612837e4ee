// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"
	"slices"

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
	bridge *Bridge

	server *mcp.Server
	calls  session.Calls
	// toClient sends a message to a client as it is.
	toClient mcp.MethodHandler
	// signing signs the state that clients send back.
	signing  *session.Signing
	sessions map[*mcp.ServerSession]*clientSession
	// listeners are the modern clients that listen for changes.
	listeners *stateless.Listeners
}

// send passes messages to clients. With one server, its notifications reach a session on the
// session's own connection, so send drops the SDK's copies.
func (c *clientSet) send(next mcp.MethodHandler) mcp.MethodHandler {
	next = c.bridge.pipeline.ObserveSent(stateless.Send(next))
	c.toClient = unchangedAnswers(next)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if methods.Of(method).IsChange() && c.bridge.set.transparent() && c.listens(req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// unchangedAnswers returns clients' answers as they sent them. The SDK's types would lose unknown
// fields, empty values and large numbers.
func unchangedAnswers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if methods.Of(method).Notification {
			return next(ctx, method, req)
		}
		reply := &message.Reply{}
		result, err := next(message.WithReply(ctx, reply), method, req)
		if raw := reply.End(); raw != nil && ctx.Err() == nil {
			return &message.Answer{Raw: raw}, nil
		}
		return result, err
	}
}

// listens reports whether the session gets change notifications directly from the server of a
// transparent bridge. A session that began with several servers gets them from the bridge.
func (c *clientSet) listens(req mcp.Request) bool {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || message.EraOf(req) != message.Legacy {
		return false
	}
	s := c.session(ss)
	return s == nil || s.who.Watch
}

// open registers a new legacy session until its client leaves. A session that opens while the
// bridge closes ends at once, because Close may miss it.
func (c *clientSet) open(ss *mcp.ServerSession, who upstream.ClientIdentity) *clientSession {
	s := &clientSession{bridge: c.bridge, client: ss, who: who, bindings: map[*upstream.Server]*upstreamBinding{}}
	stop := context.AfterFunc(c.bridge.ctx, func() { _ = ss.Close() })
	c.bridge.mu.Lock()
	defer c.bridge.mu.Unlock()
	if c.bridge.ctx.Err() != nil {
		s.ended = true
		return s
	}
	c.sessions[ss] = s
	c.bridge.done.Go(func() {
		_ = ss.Wait()
		stop()
		c.bridge.mu.Lock()
		delete(c.sessions, ss)
		c.bridge.mu.Unlock()
		s.end()
	})
	return s
}

// resume reconnects the sessions that are subscribed to resources of u: their clients may send no
// request for hours that would reconnect them.
func (c *clientSet) resume(u *upstream.Server) {
	c.bridge.mu.Lock()
	sessions := slices.Collect(maps.Values(c.sessions))
	c.bridge.mu.Unlock()
	for _, s := range sessions {
		c.bridge.done.Go(func() {
			s.resume(u)
			s.loggedIn(u.Config.Name)
		})
	}
}

func (c *clientSet) session(ss *mcp.ServerSession) *clientSession {
	c.bridge.mu.Lock()
	defer c.bridge.mu.Unlock()
	return c.sessions[ss]
}

// inform notifies the sessions of a change, each in its own goroutine, because a client that does
// not read would block the others.
func (c *clientSet) inform(note string, sessions []*clientSession) {
	for _, s := range sessions {
		c.bridge.done.Go(func() { _, _ = s.Send(c.bridge.ctx, note, &message.Params{}) })
	}
}

// unconnected returns the sessions without a connection to the one server, which therefore cannot
// notify them of changed lists. Sessions that began with several servers get notifications from
// the bridge.
func (c *clientSet) unconnected() []*clientSession {
	c.bridge.mu.Lock()
	sessions := slices.Collect(maps.Values(c.sessions))
	c.bridge.mu.Unlock()
	return slices.DeleteFunc(sessions, func(s *clientSession) bool { return !s.who.Watch || len(s.links()) > 0 })
}

// subscribeResource and unwatch handle the resource subscriptions of modern clients, which share
// one subscription at the server.
func (c *clientSet) subscribeResource(ctx context.Context, req *mcp.SubscribeRequest) error {
	q := &message.Request{Params: req.Params}
	u, err := c.bridge.directory.route(ctx, q)
	if err != nil {
		return err
	}
	defer c.bridge.set.leave(u)
	if err := waitedInVain(q, u); err != nil {
		return err
	}
	ctx, cancel := egress.FollowContext(c.bridge.ctx, ctx)
	defer cancel()
	return fault.ToRPC(u.Subscribe(ctx, req.Params.URI), u.Config.Name)
}

func (c *clientSet) unsubscribeResource(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	u, err := c.bridge.directory.route(ctx, &message.Request{Params: req.Params})
	if err != nil {
		return err
	}
	defer c.bridge.set.leave(u)
	// The stream of the subscription has ended, and its context with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.Timing.Timeout)
	defer cancel()
	return fault.ToRPC(u.Unsubscribe(ctx, req.Params.URI), u.Config.Name)
}

// identify returns the identity with which a client's session connects to servers.
func (c *clientSet) identify(params *mcp.InitializeParams, hops string) upstream.ClientIdentity {
	who := upstream.ClientIdentity{Info: params.ClientInfo, Capabilities: params.Capabilities, Watch: c.bridge.set.transparent(), Hops: hops}
	if who.Info == nil {
		who.Info = message.Implementation
	}
	return who
}

// restored takes over a session of a previous process. The client's lists may be out of date, so
// it is notified of changes.
func (c *clientSet) restored(ss *mcp.ServerSession, params *mcp.InitializeParams, hops string) {
	s := c.open(ss, c.identify(params, hops))
	// In a goroutine, because a client that does not read would block.
	c.bridge.done.Go(func() {
		for _, note := range methods.Changes {
			_, _ = s.Send(c.bridge.ctx, note, &message.Params{})
		}
	})
}

func (c *clientSet) allSessions() []*clientSession {
	c.bridge.mu.Lock()
	defer c.bridge.mu.Unlock()
	return slices.Collect(maps.Values(c.sessions))
}

// listening returns the sessions that get change notifications from the server of a transparent
// bridge, not from the bridge.
func (c *clientSet) listening() []*clientSession {
	return slices.DeleteFunc(c.allSessions(), func(s *clientSession) bool { return !s.who.Watch })
}

// endSubscriptions ends all subscriptions of a closing session.
func (c *clientSet) endSubscriptions(s *clientSession) {
	for _, u := range c.bridge.set.servers() {
		if !u.SharedBySessions() {
			continue
		}
		for _, uri := range u.Subscriptions.RemoveSession(s) {
			ctx, cancel := context.WithTimeout(c.bridge.ctx, u.Timing.Timeout)
			_ = u.Unsubscribe(ctx, uri)
			cancel()
		}
	}
}

// subscribe subscribes a modern client to a resource.
func (c *clientSet) subscribe(ctx context.Context, uri string) (end func(), err error) {
	if err := c.subscribeResource(ctx, &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: uri}}); err != nil {
		return nil, err
	}
	return func() {
		_ = c.unsubscribeResource(ctx, &mcp.UnsubscribeRequest{Params: &mcp.UnsubscribeParams{URI: uri}})
	}, nil
}
