// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// sharedHandler handles messages on a server's shared connection, which many clients use.
type sharedHandler struct {
	set     *serverSet
	clients *clientSet
	// updated is called with the URI of a resource that has changed.
	updated func(uri string)
}

func (s *sharedHandler) HandleNotification(l *upstream.Conn, method string, params *message.Params) {
	if methods.Of(method).IsChange() {
		s.listChanged(l, method, params)
		return
	}
	s.notifyMembers(l, method, params)
	if uri := params.TextField("uri"); method == methods.ResourceUpdated && uri != "" {
		s.updated(uri)
		s.clients.listeners.Updated(uri)
	}
}

// listChanged handles a server's notification of a changed list. Some servers send it whenever the
// list is read; neither the bridge nor clients may then read it in a loop.
func (s *sharedHandler) listChanged(l *upstream.Conn, method string, params *message.Params) {
	u := l.Upstream
	u.Changing.Do(method, u.Timing.Pace, u.Over, func() {
		s.notifyMembers(l, method, params)
		if s.set.transparent() {
			// Clients of a single server read its lists there, so they need not wait until the
			// bridge has read the lists too.
			s.clients.announce(method)
		}
	})
	u.ReadListsSoon()
}

// HandleRequest implements peer. A server's question goes to the client of the call in progress.
// Outside a call there are no roots: they would be those of several clients.
func (s *sharedHandler) HandleRequest(ctx context.Context, l *upstream.Conn, method string, params *message.Params) (mcp.Result, error) {
	x, several := l.Calls.Whose(params)
	switch {
	case x == nil && method == methods.ListRoots:
		return &mcp.ListRootsResult{Roots: []*mcp.Root{}}, nil
	case several:
		return nil, fault.NewAmbiguousClient(method)
	case x == nil:
		return nil, fault.MethodNotFound(method)
	}
	return x.Question(ctx, method, params)
}

// notifyMembers passes the server's messages outside of any request to the sessions on a shared
// connection. With several servers the bridge itself announces changed lists.
func (s *sharedHandler) notifyMembers(l *upstream.Conn, method string, params *message.Params) {
	if !l.Shared || methods.Of(method).IsChange() && !s.set.transparent() {
		return
	}
	raw := message.WithoutMeta(params.Raw, message.MetaSubscriptionID)
	for member, box := range l.Audience.Members() {
		if !s.concerns(l, member, method, params) {
			continue
		}
		box.Put(inflight.Notification{Method: method, Raw: raw}, func(n inflight.Notification) {
			_, _ = member.Send(l.GraceContext(), n.Method, (&message.Params{Raw: n.Raw}).OnWire())
		})
	}
}

// concerns reports whether a session's client wants a notification.
func (s *sharedHandler) concerns(l *upstream.Conn, member message.Client, method string, params *message.Params) bool {
	switch method {
	case methods.ResourceUpdated:
		return l.Upstream.Subscriptions.Follows(member, params.TextField("uri"))
	case methods.LogMessage:
		x := &inflight.Call{Log: inflight.LogFilter{Level: member.LogLevel()}}
		return x.Wants(params.Raw) || x.Log.Level == "" && l.Audience.NoLevelSet()
	case methods.Progress:
		return false // It belongs to a request that has ended.
	}
	return true
}

var _ upstream.RequestHandler = (*sharedHandler)(nil)
