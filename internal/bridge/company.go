// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// A program runs once, however many clients there are, so that legacy sessions
// use its one connection together with modern clients. This file is what makes
// of the one connection several: what the program asks goes to the client that
// it concerns, and what it tells to those who want to know.

// everything is what the bridge declares to a server on a connection behind
// which there are clients of all kinds. What one of them cannot do, the server
// is told when it asks.
func everything() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		RootsV2: &mcp.RootCapabilities{ListChanged: true},
		Sampling: &mcp.SamplingCapabilities{
			Tools:   &mcp.SamplingToolsCapabilities{},
			Context: &mcp.SamplingContextCapabilities{},
		},
		Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{},
			URL:  &mcp.URLElicitationCapabilities{},
		},
	}
}

// shares reports whether legacy sessions use the shared connection too.
func (u *upstream) shares() bool { return u.server.Kind() == config.Stdio }

// join returns the shared connection to u as the session's.
func (s *session) join(ctx context.Context, up *uplink, u *upstream) (*link, error) {
	l, err := u.shared(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	level, ended, ready := s.level, s.ended, s.ready
	if !ended {
		up.link = l
		l.enter(s)
	}
	s.mu.Unlock()
	if ended {
		return nil, &unavailableError{server: u.server.Name}
	}
	ctx, cancel := follow(l.grant.rest, ctx)
	defer cancel()
	if level != "" {
		l.hear(ctx, level)
	}
	if ready {
		s.showRoots(ctx, l)
	}
	return l, nil
}

// begun notes that the client answers: before it has initialized, it does not
// say which roots it has.
func (s *session) begun() {
	s.mu.Lock()
	before := s.ready
	s.ready = true
	s.mu.Unlock()
	if before || !s.rooted() {
		return
	}
	s.bridge.done.Go(func() {
		for _, l := range s.links() {
			s.showRoots(l.grant.rest, l)
		}
	})
}

// enter notes that s uses the connection.
func (l *link) enter(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members == nil {
		l.members = map[*session]*outbox{}
	}
	if l.members[s] == nil {
		l.members[s] = &outbox{}
	}
}

// present returns the sessions that use the connection, with what waits for each.
func (l *link) present() map[*session]*outbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.members)
}

// leave ends what the session has of the connection: the connection itself where
// it is the session's own.
func (l *link) leave(s *session) {
	if !l.shared {
		l.retire() // The server must hear of the calls that end with the session.
		return
	}
	l.mu.Lock()
	delete(l.members, s)
	l.mu.Unlock()
}

// part ends the subscriptions of a session that ends, and tells servers whose
// roots those were.
func (b *Bridge) part(s *session) {
	for _, u := range b.servers() {
		if !u.shares() {
			continue
		}
		for _, uri := range u.unfollow(s) {
			ctx, cancel := context.WithTimeout(b.ctx, u.timing.timeout)
			_ = u.unwatch(ctx, uri)
			cancel()
		}
		if l := u.peek(); l.alive() {
			s.showRoots(b.ctx, l)
		}
	}
}

// subscribeFor asks for the updates of a resource for the session, or for no
// more of them.
func (l *link) subscribeFor(ctx context.Context, s *session, uri string, on bool) error {
	ctx, cancel := follow(l.grant.rest, ctx)
	defer cancel()
	if !l.shared {
		return l.subscribe(ctx, uri, on)
	}
	u := l.upstream
	if !u.follow(s, uri, on) {
		return nil
	}
	if !on {
		return u.unwatch(ctx, uri)
	}
	if err := u.watch(ctx, uri); err != nil {
		u.follow(s, uri, false)
		return err
	}
	return nil
}

// setLevel tells the server which log messages the session's client wants.
func (l *link) setLevel(ctx context.Context, p *mcp.SetLoggingLevelParams) error {
	if l.shared {
		l.hear(ctx, string(p.Level))
		return nil
	}
	_, err := l.call(ctx, methodSetLevel, p)
	return err
}

// about returns how a modern server is told of the session's client.
func (l *link) about(s *session) map[string]any {
	if !l.shared || s == nil {
		return l.meta
	}
	meta := maps.Clone(l.meta)
	if s.who.info != nil {
		meta[metaClientInfo] = s.who.info
	}
	meta[metaClientCaps] = capsOf(s.who.caps)
	return meta
}

// capsOf returns capabilities as they are written. The SDK's type writes roots
// that are not there.
func capsOf(caps *mcp.ClientCapabilities) map[string]any {
	if caps == nil {
		return map[string]any{}
	}
	written := map[string]any{}
	for name, value := range map[string]any{"sampling": orNil(caps.Sampling), "elicitation": orNil(caps.Elicitation), "roots": orNil(caps.RootsV2)} {
		if value != nil {
			written[name] = value
		}
	}
	if len(caps.Experimental) > 0 {
		written["experimental"] = caps.Experimental
	}
	if len(caps.Extensions) > 0 {
		written["extensions"] = caps.Extensions
	}
	return written
}

// orNil returns p, and nil itself for a nil pointer.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// answers reports whether the client can be asked.
func (s *session) answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// rooted reports whether the session's client has roots.
func (s *session) rooted() bool { return s.who.caps != nil && s.who.caps.RootsV2 != nil }

// showRoots tells the server of a shared connection that there are other roots
// than before, where the session has any.
func (s *session) showRoots(ctx context.Context, l *link) {
	if !s.rooted() || !l.shared || l.era == modern {
		return
	}
	_, _ = l.call(ctx, noteRootsChanged, &rawParams{})
}

// roots returns the roots of all clients that have some, for a server that asks
// for them outside any request. A client that does not answer in time has none.
func (b *Bridge) roots(ctx context.Context, u *upstream) *mcp.ListRootsResult {
	ctx, cancel := context.WithTimeout(ctx, u.timing.timeout)
	defer cancel()
	b.mu.Lock()
	sessions := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	var mu sync.Mutex
	found := map[string]*mcp.Root{}
	var asking sync.WaitGroup
	for _, s := range sessions {
		if !u.shares() || !s.rooted() || !s.answers() {
			continue
		}
		asking.Go(func() {
			asked, stop := follow(b.ctx, ctx)
			defer stop()
			result, err := s.tell(asked, methodRoots, &mcp.ListRootsParams{})
			list, ok := result.(*mcp.ListRootsResult)
			if err != nil || !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, root := range list.Roots {
				if root != nil && found[root.URI] == nil {
					found[root.URI] = root
				}
			}
		})
	}
	asking.Wait()
	roots := slices.SortedFunc(maps.Values(found), func(a, b *mcp.Root) int { return strings.Compare(a.URI, b.URI) })
	if roots == nil {
		roots = []*mcp.Root{}
	}
	return &mcp.ListRootsResult{Roots: roots}
}

// request implements peer. A server asks the client whose request it works on.
func (s *standIn) request(ctx context.Context, l *link, method string, params mcp.Params) (mcp.Result, error) {
	x, several := l.whose(params)
	switch {
	case x == nil && method == methodRoots:
		return s.bridge.roots(ctx, s.upstream), nil
	case several:
		return nil, errWhose(method)
	case x == nil:
		return nil, methodNotFound(method)
	}
	return x.question(ctx, method, params)
}

// share tells the sessions on a shared connection what the server says outside
// any request. With several servers the bridge itself tells of changed lists.
func (s *standIn) share(l *link, method string, params mcp.Params) {
	_, isChange := changeOf[method]
	if !l.shared || isChange && !s.bridge.transparent() {
		return
	}
	delete(params.GetMeta(), metaSubscriptionID)
	raw, err := json.Marshal(params)
	if err != nil {
		return
	}
	for member, box := range l.present() {
		if !s.concerns(l, member, method, params, raw) {
			continue
		}
		box.put(note{method, raw}, func(n note) {
			_, _ = member.tell(l.grant.rest, n.method, &rawParams{raw: n.raw})
		})
	}
}

// concerns reports whether a session's client wants to know of a notification.
func (s *standIn) concerns(l *link, member *session, method string, params mcp.Params, raw json.RawMessage) bool {
	switch method {
	case noteResourceUpdated:
		p, ok := params.(*mcp.ResourceUpdatedNotificationParams)
		return ok && s.upstream.follows(member, p.URI)
	case noteMessage:
		x := &exchange{level: member.logLevel()}
		return x.wants(raw) || x.level == "" && l.unasked()
	case noteProgress:
		return false // It belongs to a request, which is over.
	}
	return true
}

// unasked reports whether nobody asked for a log level, so that the server says
// what it says by itself.
func (l *link) unasked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.level == ""
}
