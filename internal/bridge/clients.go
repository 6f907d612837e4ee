// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
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

	server *mcp.Server
	calls  session.Calls
	// toSession sends a message to the client of a session as it is.
	toSession mcp.MethodHandler
	// signing signs the state that clients send back.
	signing *session.Signing
	// listeners are the modern clients that listen for changes.
	listeners *stateless.Listeners

	mu       sync.Mutex // guards what follows
	sessions map[*mcp.ServerSession]*clientSession
}

// send passes messages to clients. With one server, its notifications reach a session on the
// session's own connection, so send drops the SDK's copies.
func (c *clientSet) send(next mcp.MethodHandler) mcp.MethodHandler {
	observed := func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c.observe(ctx, method, req.GetParams())
		return next(ctx, method, req)
	}
	c.toSession = unchangedAnswers(observed)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if methods.Of(method).IsChange() && c.set.transparent() && c.listens(req) {
			return nil, nil
		}
		return observed(ctx, method, req)
	}
}

// sendTo returns how to send messages to the client of a session.
func (c *clientSet) sendTo(ss *mcp.ServerSession) message.Send {
	return func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
		return c.toSession(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: ss, Params: params})
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
	if !ok || eraOf(ss) != message.Legacy {
		return false
	}
	s := c.session(ss)
	return s == nil || s.who.Watch
}

// eraOf returns the era of a session of the SDK. One with an id is legacy; one without an id has the era in
// which it was initialized.
func eraOf(ss *mcp.ServerSession) message.Era {
	if init := ss.InitializeParams(); ss.ID() != "" || init != nil && init.ProtocolVersion < message.FirstModernVersion {
		return message.Legacy
	}
	return message.Modern
}

// request returns a request in a session of the SDK.
func (c *clientSet) request(ctx context.Context, method string, req mcp.Request, ss *mcp.ServerSession) *message.Request {
	q := &message.Request{
		Method: method, Params: message.ParamsOrEmpty(req.GetParams()), Era: eraOf(ss), Send: c.sendTo(ss),
	}
	if extra := req.GetExtra(); extra != nil {
		q.Header, q.Sent, q.Record = extra.Header, message.SentOf(extra), callaudit.RecordOf(extra)
	}
	q.ReadSent()
	switch {
	case method == methods.Initialize:
		q.Era = message.Legacy
	case q.ClaimsModern():
		q.Era = message.Modern // On a connection that serves both eras, each request names its own.
	}
	if q.Era == message.Legacy {
		if s := c.session(ss); s != nil {
			q.Session = s
		}
	}
	q.Hops = session.HopsOf(ctx, q.Header, q.Meta)
	delete(q.Meta, message.MetaHops)
	return q
}

// open registers a new legacy session until its client leaves. A session that opens while the
// bridge closes ends at once, because Close may miss it.
func (c *clientSet) open(ss *mcp.ServerSession, who upstream.ClientIdentity) *clientSession {
	s := &clientSession{clients: c, client: ss, who: who, bindings: map[*upstream.Server]*upstreamBinding{}}
	stop := context.AfterFunc(c.life.ctx, func() { _ = ss.Close() })
	if !c.life.admit() {
		s.ended = true
		return s
	}
	c.mu.Lock()
	c.sessions[ss] = s
	c.mu.Unlock()
	go func() {
		defer c.life.leave()
		_ = ss.Wait()
		stop()
		c.mu.Lock()
		delete(c.sessions, ss)
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

func (c *clientSet) session(ss *mcp.ServerSession) *clientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[ss]
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

// placeholder is the feature that announce adds to the SDK's server; the bridge's own lists hide
// it.
const placeholder = "hosted-bridge-changed"

// announce notifies clients that a list changed. The SDK notifies its clients when a feature is
// added, even one that exists.
func (c *clientSet) announce(note string) {
	c.listeners.Changed(note)
	switch note {
	case methods.ToolsChanged:
		c.server.AddTool(&mcp.Tool{Name: placeholder, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	case methods.PromptsChanged:
		c.server.AddPrompt(&mcp.Prompt{Name: placeholder}, nil)
	case methods.ResourcesChanged:
		c.server.AddResource(&mcp.Resource{Name: placeholder, URI: placeholder + ":"}, nil)
	}
}

// unconnected returns the sessions without a connection to the one server, which therefore cannot
// notify them of changed lists. Sessions that began with several servers get notifications from
// the bridge.
func (c *clientSet) unconnected() []*clientSession {
	return slices.DeleteFunc(c.allSessions(), func(s *clientSession) bool { return !s.who.Watch || len(s.links()) > 0 })
}

// subscribeResource and unwatch handle the resource subscriptions of modern clients, which share
// one subscription at the server.
func (c *clientSet) subscribeResource(ctx context.Context, req *mcp.SubscribeRequest) error {
	q := &message.Request{Params: req.Params}
	u, err := c.directory.route(ctx, q)
	if err != nil {
		return err
	}
	defer c.set.leave(u)
	if err := waitedInVain(q, u); err != nil {
		return err
	}
	ctx, cancel := egress.FollowContext(c.life.ctx, ctx)
	defer cancel()
	return fault.ToRPC(u.Subscribe(ctx, req.Params.URI), u.Config.Name)
}

func (c *clientSet) unsubscribeResource(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	u, err := c.directory.route(ctx, &message.Request{Params: req.Params})
	if err != nil {
		return err
	}
	defer c.set.leave(u)
	// The stream of the subscription has ended, and its context with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.Timing.Timeout)
	defer cancel()
	return fault.ToRPC(u.Unsubscribe(ctx, req.Params.URI), u.Config.Name)
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
func (c *clientSet) restored(ss *mcp.ServerSession, params *mcp.InitializeParams, hops string) {
	s := c.open(ss, c.identify(params, hops))
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

// subscribe subscribes a modern client to a resource.
func (c *clientSet) subscribe(ctx context.Context, uri string) (end func(), err error) {
	if err := c.subscribeResource(ctx, &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: uri}}); err != nil {
		return nil, err
	}
	return func() {
		_ = c.unsubscribeResource(ctx, &mcp.UnsubscribeRequest{Params: &mcp.UnsubscribeParams{URI: uri}})
	}, nil
}
