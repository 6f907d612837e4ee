// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newestLegacyVersion is what a client gets that initializes a session with a
// version that has none.
const newestLegacyVersion = "2025-11-25"

// tasksExtension needs methods that the bridge does not forward, so no client
// may be told of it.
const tasksExtension = "io.modelcontextprotocol/tasks"

// initialize opens a legacy session. With one server behind the bridge the
// session is opened there too, and the client sees that server.
func (b *Bridge) initialize(ctx context.Context, next mcp.MethodHandler, q *query, req mcp.Request) (mcp.Result, error) {
	ss, okSession := req.GetSession().(*mcp.ServerSession)
	params, okParams := req.GetParams().(*mcp.InitializeParams)
	if !okSession || !okParams || params == nil {
		return next(ctx, methodInitialize, req)
	}
	if params.ProtocolVersion >= firstModernVersion {
		params.ProtocolVersion = newestLegacyVersion
	}
	result, err := next(ctx, methodInitialize, req)
	if err != nil {
		return nil, err
	}
	s := b.open(ss, b.identify(params, q.hops)) //nolint:contextcheck // The session outlives the request that began it.
	answer, ok := result.(*mcp.InitializeResult)
	if !ok {
		return result, nil
	}
	only := b.only()
	if only == nil {
		answer.Instructions = b.instructions()
		return answer, nil
	}
	l, err := s.connect(ctx, only)
	if err != nil {
		b.log.Info("a session begins without its server", "server", only.server.Name, "error", describe(err))
		answer.Instructions = only.invitation()
		return answer, nil
	}
	answer.Capabilities = passable(l.capabilities())
	answer.Instructions = l.session.InitializeResult().Instructions
	if info := l.session.InitializeResult().ServerInfo; info != nil {
		answer.ServerInfo = info
	}
	return answer, nil
}

// identify returns how the session of a client presents itself to servers.
func (b *Bridge) identify(params *mcp.InitializeParams, hops string) identity {
	who := identity{info: params.ClientInfo, caps: params.Capabilities, watch: b.transparent(), hops: hops}
	if who.info == nil {
		who.info = implementation
	}
	return who
}

// restored takes over a session that another process began. What the client
// knows of the servers may be out of date, so it is told to look again.
func (b *Bridge) restored(ss *mcp.ServerSession, params *mcp.InitializeParams, hops string) {
	s := b.open(ss, b.identify(params, hops))
	s.begun()
	// On its own, because a client that does not read would hold it up.
	b.done.Go(func() {
		for _, note := range []string{noteToolsChanged, notePromptsChanged, noteResourcesChanged} {
			_, _ = s.tell(b.ctx, note, &rawParams{})
		}
	})
}

// discover answers a modern client's first question.
func (b *Bridge) discover(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	result, err := next(ctx, methodDiscover, req)
	if err != nil {
		return nil, err
	}
	answer, ok := result.(*mcp.DiscoverResult)
	if !ok {
		return result, nil
	}
	answer.CacheScope = "private"
	only := b.only()
	if only == nil {
		answer.Instructions = b.instructions()
		return answer, nil
	}
	l, err := only.shared(ctx)
	if err != nil {
		b.log.Info("a client discovers the bridge without its server", "server", only.server.Name, "error", describe(err))
		answer.Instructions = only.invitation()
		return answer, nil
	}
	answer.Capabilities = passable(l.capabilities())
	answer.Instructions = l.session.InitializeResult().Instructions
	if info := l.session.InitializeResult().ServerInfo; info != nil {
		meta := maps.Clone(answer.GetMeta())
		if meta == nil {
			meta = map[string]any{}
		}
		meta[metaServerInfo] = info
		answer.SetMeta(meta)
	}
	return answer, nil
}

// passable returns the capabilities of a server that hold through the bridge.
func passable(caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	passed := *caps
	if _, ok := passed.Extensions[tasksExtension]; ok {
		passed.Extensions = maps.Clone(passed.Extensions)
		delete(passed.Extensions, tasksExtension)
	}
	return &passed
}

// instructions returns what the servers say of themselves, each under its name.
func (b *Bridge) instructions() string {
	var parts []string
	for _, u := range b.servers() {
		if text := cmp.Or(u.invitation(), u.introduced()); text != "" {
			parts = append(parts, "# "+u.server.Name+"\n\n"+text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// introduced returns what the server says of itself, also while it is idle, and
// nothing while it is out of service.
func (u *upstream) introduced() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.grant.usable() || u.drifted != "" {
		return ""
	}
	return u.introduction
}

// standIn is the peer of a server's shared connection, behind which there are
// many clients.
type standIn struct {
	bridge   *Bridge
	upstream *upstream
}

var _ peer = (*standIn)(nil)

func (s *standIn) notify(l *link, method string, params mcp.Params) {
	if _, isChange := changeOf[method]; isChange {
		s.heed(l, method, params)
		return
	}
	s.share(l, method, params)
	if p, ok := params.(*mcp.ResourceUpdatedNotificationParams); ok && method == noteResourceUpdated {
		_ = s.bridge.server.ResourceUpdated(s.bridge.ctx, &mcp.ResourceUpdatedNotificationParams{URI: p.URI})
	}
}

// heed takes a server's word that a list changed. One that says so whenever it
// is asked for the list must not be asked in a loop, by the bridge or by clients.
func (s *standIn) heed(l *link, method string, params mcp.Params) {
	u := s.upstream
	u.changing.do(method, u.timing.pace, u.over, func() {
		s.share(l, method, params)
		if s.bridge.transparent() {
			// Clients of one server read its lists there, so they need not wait
			// until the bridge has read them too.
			s.bridge.announce(method)
		}
	})
	u.reread()
}

// reread has the bridge read the lists again soon.
func (u *upstream) reread() {
	u.changing.do("lists", u.timing.pace, u.over, func() {
		select {
		case u.refresh <- struct{}{}:
		default:
		}
	})
}
