// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// clientSession is the session of one legacy client. It has its own connection to every server
// that the client uses.
type clientSession struct {
	clients *clientSet
	client  *session.Session
	who     upstream.ClientIdentity

	mu       sync.Mutex
	level    string // set by the client
	ended    bool
	bindings map[*upstream.Server]*upstreamBinding
	// invitations are the ids of pending login requests to the client, by server.
	invitations map[string]string
}

// upstreamBinding is a session's connection to one server, and the client state to restore after a
// reconnect.
type upstreamBinding struct {
	mu         sync.Mutex // held while connecting
	link       *upstream.Conn
	subscribed map[string]bool
}

var (
	_ upstream.RequestHandler = (*clientSession)(nil)
	_ message.Client          = (*clientSession)(nil)
)

// ID implements message.Client.
func (s *clientSession) ID() string { return s.client.ID() }

// Version implements message.Client.
func (s *clientSession) Version() string {
	if params := s.client.Params(); params != nil {
		return params.ProtocolVersion
	}
	return ""
}

// Info returns what the client says of itself.
func (s *clientSession) Info() *mcp.Implementation { return s.who.Info }

// Capabilities returns the client capabilities that a server may use.
func (s *clientSession) Capabilities() *mcp.ClientCapabilities { return s.who.Capabilities }

func (s *clientSession) binding(u *upstream.Server) *upstreamBinding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bindings[u] == nil {
		s.bindings[u] = &upstreamBinding{subscribed: map[string]bool{}}
	}
	return s.bindings[u]
}

// connect returns the session's connection to u, and reconnects if the connection is gone.
func (s *clientSession) connect(ctx context.Context, u *upstream.Server) (*upstream.Conn, error) {
	up := s.binding(u)
	up.mu.Lock()
	defer up.mu.Unlock()
	// Calls in flight at a replaced server end with that server.
	if up.link.Alive() && up.link.Upstream == u && u.Availability.ToolsMismatch() == nil {
		return up.link, nil
	}
	if u.SharedBySessions() {
		return s.joinShared(ctx, up, u)
	}
	// The shared connection already knows whether the server can be reached, so not every session
	// has to find out.
	if _, err := u.Shared(ctx); err != nil {
		return nil, err
	}
	if up.link.Alive() && up.link.Upstream == u {
		return up.link, nil // The server is back in service.
	}
	dialCtx, cancel := egress.FollowContext(s.clients.life.ctx, ctx)
	defer cancel()
	dialCtx, cancelTimeout := context.WithTimeout(dialCtx, u.Timing.Connect)
	defer cancelTimeout()
	l, err := u.Dial(dialCtx, s.who, s)
	if err != nil {
		return nil, err
	}
	if !s.useConn(dialCtx, up, l) {
		l.Life.Close()
		return nil, &fault.Unavailable{Server: u.Config.Name}
	}
	return l, nil
}

// useConn makes l the session's connection and restores the client's settings and subscriptions on
// it. It returns false if the session has ended.
func (s *clientSession) useConn(ctx context.Context, up *upstreamBinding, l *upstream.Conn) bool {
	s.mu.Lock()
	level, ended := s.level, s.ended
	if !ended {
		up.link = l
	}
	s.mu.Unlock()
	if ended {
		return false
	}
	if level != "" && l.Era == message.Legacy {
		_, _ = l.Call(ctx, methods.SetLevel, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)}, nil)
	}
	for uri := range up.subscribed {
		_ = l.Subscribe(ctx, uri, true)
	}
	return true
}

// resume reconnects to u if the client is subscribed to one of its resources.
func (s *clientSession) resume(u *upstream.Server) {
	up := s.binding(u)
	up.mu.Lock()
	subscribed := len(up.subscribed) > 0
	up.mu.Unlock()
	if !subscribed {
		return
	}
	if _, err := s.connect(s.clients.life.ctx, u); err != nil {
		u.Log.Warn("a session's resources could not be subscribed again", "error", fault.Describe(err))
	}
}

// links returns the session's connections.
func (s *clientSession) links() []*upstream.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var links []*upstream.Conn
	for _, up := range s.bindings {
		if up.link.Alive() {
			links = append(links, up.link)
		}
	}
	return links
}

// end closes the session's connections.
func (s *clientSession) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	for _, l := range s.links() {
		l.Audience.Leave(s)
	}
	s.clients.endSubscriptions(s)
}

// HandleRequest passes a server's request to the client, on the stream of the client's request
// that it belongs to: a client need not have another stream open.
func (s *clientSession) HandleRequest(ctx context.Context, l *upstream.Conn, method string, params *message.Params) (mcp.Result, error) {
	parent := s.clients.life.ctx
	if x := l.Calls.Origin(params); x != nil {
		// The question does not end with the client's request; the server cancels it when it no
		// longer needs the answer.
		parent = context.WithoutCancel(x.Ctx)
	}
	ctx, cancel := egress.FollowContext(parent, ctx)
	defer cancel()
	result, err := s.Send(message.WithWithdrawal(ctx, params.Withdrawn), method, params.OnWire())
	if err != nil {
		return nil, fault.ToRPC(err, "client")
	}
	return result, nil
}

// HandleNotification passes a server's notification to the client. With several servers, the
// bridge itself announces changed lists.
func (s *clientSession) HandleNotification(l *upstream.Conn, method string, params *message.Params) {
	if methods.Of(method).IsChange() && !(s.who.Watch && s.clients.set.transparent()) {
		return
	}
	sent := &message.Params{Raw: message.WithoutMeta(params.Raw, message.MetaSubscriptionID)}
	_, _ = s.Send(l.GraceContext(), method, sent.OnWire())
}

// Send sends a message to the client.
func (s *clientSession) Send(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	return s.clients.observed(s.client.Send)(ctx, method, params)
}

// rootsChanged passes the client's notification to the servers. A shared connection has no roots
// outside a request.
func (s *clientSession) rootsChanged(ctx context.Context, q *message.Request) {
	var told sync.WaitGroup // at once: one of them may be slow
	for _, l := range s.links() {
		if l.Era == message.Legacy && !l.Shared {
			params := q.Outgoing(q.Meta).OnWire(q)
			told.Go(func() {
				ctx, cancel := egress.FollowContext(l.GraceContext(), ctx)
				defer cancel()
				_ = l.Notify(ctx, methods.RootsChanged, params)
			})
		}
	}
	told.Wait()
}

// setLevel stores the client's log level and sends it to the servers. Modern servers get the level
// with every request.
func (s *clientSession) setLevel(ctx context.Context, q *message.Request, level string) error {
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	for _, l := range s.links() {
		if l.Era == message.Modern {
			continue
		}
		ctx, cancel := egress.FollowContext(l.GraceContext(), ctx)
		err := l.Audience.SetLevel(ctx, level, q.Outgoing(q.Meta))
		cancel()
		if err != nil && !fault.IsMethodNotFound(err) {
			return fault.ToRPC(err, l.Upstream.Config.Name)
		}
	}
	return nil
}

func (s *clientSession) LogLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// subscribe subscribes the client to a resource of u, or unsubscribes it.
func (s *clientSession) subscribe(ctx context.Context, u *upstream.Server, uri string, on bool) error {
	l, err := s.connect(ctx, u)
	if err != nil {
		return fault.ToRPC(err, u.Config.Name)
	}
	err = l.Audience.SubscribeFor(ctx, s, uri, on)
	if err != nil && l.Life.Dead() && ctx.Err() == nil {
		// The connection ended meanwhile; retry on a new one.
		if l, err = s.connect(ctx, u); err == nil {
			err = l.Audience.SubscribeFor(ctx, s, uri, on)
		}
	}
	if err != nil {
		return fault.ToRPC(err, u.Config.Name)
	}
	up := s.binding(u)
	up.mu.Lock()
	defer up.mu.Unlock()
	if on {
		up.subscribed[uri] = true
	} else {
		delete(up.subscribed, uri)
	}
	return nil
}

// errNoSession is the answer to a request that needs a session and has none.
var errNoSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the request belongs to no session"}

// LoginID returns the id of the login request to the session's client for this server. The client
// is notified when its user has logged in.
func (s *clientSession) LoginID(server string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.invitations[server]
	if id == "" {
		id = rand.Text()
		if s.invitations == nil {
			s.invitations = map[string]string{}
		}
		s.invitations[server] = id
	}
	return id
}

// loggedIn notifies the client that the requested login at a server is complete.
func (s *clientSession) loggedIn(server string) {
	s.mu.Lock()
	id := s.invitations[server]
	delete(s.invitations, server)
	s.mu.Unlock()
	if id != "" {
		_, _ = s.Send(s.clients.life.ctx, methods.ElicitationComplete, &mcp.ElicitationCompleteParams{ElicitationID: id})
	}
}

// transfer moves the client's subscriptions from before to after, or ends them if after is nil.
// Calls in flight finish at before.
func (s *clientSession) transfer(before, after *upstream.Server) {
	s.mu.Lock()
	up := s.bindings[before]
	delete(s.bindings, before)
	if up == nil {
		s.mu.Unlock()
		return
	}
	l := up.link
	goesOn := after != nil && !s.ended
	if goesOn && s.bindings[after] == nil {
		s.bindings[after] = up
	}
	s.mu.Unlock()
	if l != nil {
		l.Audience.Leave(s)
	}
	if goesOn {
		// In a goroutine, because it waits for other goroutines that are connecting.
		s.clients.life.run(func() { s.resubscribe(up, after) })
	}
}

// resubscribe subscribes at u, which replaced another server, to the resources of up.
func (s *clientSession) resubscribe(up *upstreamBinding, u *upstream.Server) {
	up.mu.Lock()
	uris := slices.Sorted(maps.Keys(up.subscribed))
	up.mu.Unlock()
	if len(uris) == 0 {
		return
	}
	now := s.binding(u)
	now.mu.Lock()
	var late []string // resources that an existing connection is not subscribed to
	for _, uri := range uris {
		if !now.subscribed[uri] {
			late = append(late, uri)
		}
		now.subscribed[uri] = true
	}
	now.mu.Unlock()
	if u.SharedBySessions() {
		for _, uri := range uris {
			s.followResource(u, uri)
		}
	}
	s.resume(u)
	if u.SharedBySessions() || len(late) == 0 {
		return
	}
	if l, err := s.connect(s.clients.life.ctx, u); err == nil {
		u.Resubscribe(l.GraceContext(), l, late...)
	}
}

// followResource makes the shared connection to u send updates of a resource to which the client
// subscribed at the previous server.
func (s *clientSession) followResource(u *upstream.Server, uri string) {
	s.mu.Lock()
	fresh := !s.ended && u.Subscriptions.Follow(s, uri, true) // Before end, which undoes it.
	s.mu.Unlock()
	if !fresh {
		return
	}
	ctx, cancel := context.WithTimeout(s.clients.life.ctx, u.Timing.Timeout)
	defer cancel()
	u.AddSubscriber(ctx, uri)
}

// joinShared makes the shared connection to u the session's connection.
func (s *clientSession) joinShared(ctx context.Context, up *upstreamBinding, u *upstream.Server) (*upstream.Conn, error) {
	l, err := u.Shared(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	level, ended := s.level, s.ended
	if !ended {
		up.link = l
		l.Audience.Join(s)
	}
	s.mu.Unlock()
	if ended {
		return nil, &fault.Unavailable{Server: u.Config.Name}
	}
	ctx, cancel := egress.FollowContext(l.GraceContext(), ctx)
	defer cancel()
	if level != "" {
		l.Audience.RaiseLogLevel(ctx, level)
	}
	return l, nil
}
