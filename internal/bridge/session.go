// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one legacy client's session. It has a connection of its own to
// every server that the client uses.
type session struct {
	bridge *Bridge
	client *mcp.ServerSession
	who    identity

	mu      sync.Mutex
	level   string // as the client set it
	ended   bool
	ready   bool // whether the client has sent something since it initialized
	uplinks map[*upstream]*uplink
	// invitations are the ids under which the client was asked to have its user
	// log in, by server.
	invitations map[string]string
}

// uplink is a session's connection to one server, and what must be repeated
// when it is made anew.
type uplink struct {
	mu         sync.Mutex // held while connecting
	link       *link
	subscribed map[string]bool
}

var _ peer = (*session)(nil)

func (s *session) uplink(u *upstream) *uplink {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uplinks[u] == nil {
		s.uplinks[u] = &uplink{subscribed: map[string]bool{}}
	}
	return s.uplinks[u]
}

// connect returns the session's connection to u, made anew where it is gone.
func (s *session) connect(ctx context.Context, u *upstream) (*link, error) {
	up := s.uplink(u)
	up.mu.Lock()
	defer up.mu.Unlock()
	// A server that was replaced ends with the calls that it has.
	if up.link.alive() && up.link.upstream == u && u.drift() == nil {
		return up.link, nil
	}
	if u.shares() {
		return s.join(ctx, up, u)
	}
	// The shared connection tells whether the server is there, without every
	// session finding out for itself.
	if _, err := u.shared(ctx); err != nil {
		return nil, err
	}
	if up.link.alive() && up.link.upstream == u {
		return up.link, nil // The server is back in service.
	}
	dialCtx, cancel := follow(s.bridge.ctx, ctx)
	defer cancel()
	dialCtx, cancelTimeout := context.WithTimeout(dialCtx, u.timing.connect)
	defer cancelTimeout()
	l, err := u.open(dialCtx, s.who, s)
	if err != nil {
		return nil, err
	}
	if !s.adopt(dialCtx, up, l) {
		l.close()
		return nil, &unavailableError{server: u.server.Name}
	}
	return l, nil
}

// adopt makes l the session's connection and repeats what the client asked
// for. It reports false where the session has ended meanwhile.
func (s *session) adopt(ctx context.Context, up *uplink, l *link) bool {
	s.mu.Lock()
	level, ended := s.level, s.ended
	if !ended {
		up.link = l
	}
	s.mu.Unlock()
	if ended {
		return false
	}
	if l.era == modern {
		// The SDK writes the headers of a tool's arguments only for tools that
		// it has listed.
		for _, err := range l.session.Tools(ctx, nil) {
			if err != nil {
				break
			}
		}
	}
	if level != "" && l.era == legacy {
		_, _ = l.call(ctx, methodSetLevel, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
	}
	for uri := range up.subscribed {
		_ = l.subscribe(ctx, uri, true)
	}
	return true
}

// resume connects to u anew where the client subscribed to one of its resources.
func (s *session) resume(u *upstream) {
	up := s.uplink(u)
	up.mu.Lock()
	subscribed := len(up.subscribed) > 0
	up.mu.Unlock()
	if !subscribed {
		return
	}
	if _, err := s.connect(s.bridge.ctx, u); err != nil {
		u.log.Warn("a session's resources could not be subscribed again", "error", describe(err))
	}
}

// links returns the session's connections.
func (s *session) links() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	var links []*link
	for _, up := range s.uplinks {
		if up.link.alive() {
			links = append(links, up.link)
		}
	}
	return links
}

// end closes the session's connections.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	for _, l := range s.links() {
		l.leave(s)
	}
	s.bridge.part(s)
}

// request passes a server's request on to the client, on the stream of the
// request that it belongs to: a client need not have any other stream open.
func (s *session) request(ctx context.Context, l *link, method string, params mcp.Params) (mcp.Result, error) {
	parent := s.bridge.ctx
	if x := l.origin(params); x != nil {
		// The end of the client's request is not that of the question; the
		// server withdraws it if it no longer wants to know.
		parent = context.WithoutCancel(x.ctx)
	}
	ctx, cancel := follow(parent, ctx)
	defer cancel()
	result, err := s.tell(ctx, method, params)
	if err != nil {
		return nil, rpcError(err, "client")
	}
	return result, nil
}

// notify passes a server's notification on to the client. With several servers
// the bridge itself tells of changed lists.
func (s *session) notify(l *link, method string, params mcp.Params) {
	if _, isChange := changeOf[method]; isChange && !(s.who.watch && s.bridge.transparent()) {
		return
	}
	delete(params.GetMeta(), metaSubscriptionID)
	_, _ = s.tell(l.grant.rest, method, params)
}

// tell sends a message to the client.
func (s *session) tell(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	return s.bridge.toClient(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: s.client, Params: params})
}

// rootsChanged passes the client's notification on to the servers.
func (s *session) rootsChanged(ctx context.Context, params mcp.Params) {
	for _, l := range s.links() {
		if l.era == legacy {
			ctx, cancel := follow(l.grant.rest, ctx)
			_, _ = l.call(ctx, noteRootsChanged, params)
			cancel()
		}
	}
}

// setLevel keeps the client's log level and tells the servers. A modern server
// is told with every request.
func (s *session) setLevel(ctx context.Context, p *mcp.SetLoggingLevelParams) error {
	s.mu.Lock()
	s.level = string(p.Level)
	s.mu.Unlock()
	for _, l := range s.links() {
		if l.era == modern {
			continue
		}
		ctx, cancel := follow(l.grant.rest, ctx)
		err := l.setLevel(ctx, p)
		cancel()
		if err != nil && !isMethodNotFound(err) {
			return rpcError(err, l.upstream.server.Name)
		}
	}
	return nil
}

func (s *session) logLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// subscribe subscribes the client to a resource of u, or ends that.
func (s *session) subscribe(ctx context.Context, u *upstream, uri string, on bool) error {
	l, err := s.connect(ctx, u)
	if err != nil {
		return rpcError(err, u.server.Name)
	}
	err = l.subscribeFor(ctx, s, uri, on)
	if err != nil && l.dead() && ctx.Err() == nil {
		// It ended meanwhile, and another one takes its place.
		if l, err = s.connect(ctx, u); err == nil {
			err = l.subscribeFor(ctx, s, uri, on)
		}
	}
	if err != nil {
		return rpcError(err, u.server.Name)
	}
	up := s.uplink(u)
	up.mu.Lock()
	defer up.mu.Unlock()
	if on {
		up.subscribed[uri] = true
	} else {
		delete(up.subscribed, uri)
	}
	return nil
}

// errNoSession answers what needs a session and has none.
var errNoSession = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the request belongs to no session"}
