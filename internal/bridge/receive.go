// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/listentry"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// forwardFiltered forwards a request. A page of a list comes back without the tools that are not
// offered, and with entries that all clients take. A page may become empty; the cursor of the next
// page stays.
func (b *Bridge) forwardFiltered(ctx context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error) {
	result, err := b.pipeline.Forward(ctx, q, u)
	page, ok := result.(*message.Result)
	if err != nil || !ok || !methods.Of(q.Method).IsList() {
		return result, err
	}
	mended, err := listentry.Page(q.Method, page, func(name string, entry json.RawMessage) (json.RawMessage, bool) {
		if q.Method != methods.ListTools {
			return entry, true
		}
		return u.Outputs.Listed(name, entry), u.Config.Tools.Allows(name)
	})
	if err != nil {
		return nil, fault.ToRPC(err, u.Config.Name)
	}
	return mended, nil
}

// sessionOf returns the session of a legacy request, nil for a modern one.
func sessionOf(q *message.Request) *clientSession {
	s, _ := q.Session.(*clientSession)
	return s
}

// rest answers what the bridge itself does not answer.
type rest func(context.Context) (mcp.Result, error)

// inSession answers a request in a session.
func (b *Bridge) inSession(ctx context.Context, s *session.Session, q *message.Request) (mcp.Result, error) {
	q.Send = b.clients.observed(q.Send)
	b.clients.join(ctx, q, s)
	return b.serve(ctx, q, func(ctx context.Context) (mcp.Result, error) {
		result, err := s.Answer(ctx, q)
		if q.Method == methods.Initialize && err == nil {
			q.Session = b.clients.open(s, q.Hops) //nolint:contextcheck // The session outlives the request that began it.
		}
		return result, err
	})
}

// serve answers a request of a client.
func (b *Bridge) serve(ctx context.Context, q *message.Request, rest rest) (mcp.Result, error) {
	return b.audit.Observe(ctx, q, func(ctx context.Context) (mcp.Result, error) {
		carrier := session.KindOf(ctx)
		end, err := carrier.Count(&b.clients.calls, q.Method)
		if err != nil {
			return nil, err
		}
		defer end()
		if err := checkHops(b.config.BridgeUID, q.Hops); err != nil && !methods.Of(q.Method).Notification {
			return nil, err
		}
		if !carrier.LegacyOnly || !q.ClaimsModern() {
			result, err := b.respond(ctx, q, rest)
			return result, fault.Cancelled(err)
		}
		if q.Method == methods.Discover {
			return rest(ctx) // It returns the supported versions.
		}
		return nil, session.UnsupportedVersion(q.Meta)
	})
}

// respond answers a request, or leaves it to rest.
func (b *Bridge) respond(ctx context.Context, q *message.Request, rest rest) (mcp.Result, error) {
	switch m := methods.Of(q.Method); {
	case m.Introduces:
		return b.handshake.answer(ctx, q, rest)
	case m.ToServers() && !m.Notification:
		if err := refused(q); err != nil {
			return nil, err
		}
		return b.answer(ctx, q)
	case q.Method == methods.RootsChanged:
		if q.Session != nil {
			sessionOf(q).rootsChanged(ctx, q)
		}
	}
	return rest(ctx)
}

// refused returns the error for a request without the session that it needs. Methods of sessions
// do not exist without a session, in either era.
func refused(q *message.Request) error {
	if q.Session != nil {
		return nil
	}
	if methods.Of(q.Method).Session {
		return fault.MethodNotFound(q.Method)
	}
	if q.Era == message.Legacy {
		return errNoSession
	}
	return nil
}

// answer forwards a request and returns the answer.
func (b *Bridge) answer(ctx context.Context, q *message.Request) (mcp.Result, error) {
	if p, ok := q.Params.(*mcp.SetLoggingLevelParams); ok {
		return message.EmptyResult(), sessionOf(q).setLevel(ctx, q, string(p.Level))
	}
	if methods.Of(q.Method).IsList() {
		return b.list(ctx, q)
	}
	if b.status.handles(q, b.directory.currentCatalog().StatusTool) {
		return b.status.call(q), nil
	}
	if b.router.Handles(q) {
		return b.router.Call(ctx, q)
	}
	return b.forward(ctx, q)
}

// list answers a list request, and notes whether the ingress may keep the answer.
func (b *Bridge) list(ctx context.Context, q *message.Request) (result mcp.Result, err error) {
	b.set.awaitLists(ctx, q.Hops)
	mark := b.set.listMark(q)
	if mark.OfClient = b.directory.relaysList(q.Method); mark.OfClient {
		result, err = b.forward(ctx, q)
	} else {
		result, err = b.directory.listAll(ctx, q)
	}
	if err == nil {
		mayBeKept(ctx, mark)
	}
	return result, err
}

// forward sends a request to its server.
func (b *Bridge) forward(ctx context.Context, q *message.Request) (mcp.Result, error) {
	u, err := b.directory.route(ctx, q)
	if err != nil {
		return nil, err
	}
	defer b.set.leave(u)
	switch p := q.Params.(type) {
	case *mcp.SubscribeParams:
		return message.EmptyResult(), subscribe(ctx, q, u, p.URI, true)
	case *mcp.UnsubscribeParams:
		return message.EmptyResult(), subscribe(ctx, q, u, p.URI, false)
	}
	return b.forwardFiltered(ctx, q, u)
}

// subscribe subscribes the client of a session to a resource of u, or unsubscribes it.
func subscribe(ctx context.Context, q *message.Request, u *upstream.Server, uri string, on bool) error {
	if err := waitedInVain(q, u); err != nil {
		return err
	}
	return sessionOf(q).subscribe(ctx, u, uri, on)
}

// waitedInVain returns the error of a request that has waited for u to start, as long as it may.
func waitedInVain(q *message.Request, u *upstream.Server) error {
	if starting := u.Starting(); starting != nil && q.Waited {
		return fault.ToRPC(starting, u.Config.Name)
	}
	return nil
}
