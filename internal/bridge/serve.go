// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// query is one request of a client.
type query struct {
	method string
	params mcp.Params
	meta   map[string]any // of params, as it came
	client *mcp.ServerSession
	era    era
	header http.Header
	// hops are the bridges that the request has passed.
	hops string
	// session is the client's, nil for a modern request.
	session *session
	// invited says that the client's user was asked to log in before.
	invited bool
}

// eraOf returns the era of a request or of the session that a notification is
// sent to. A session with an id is legacy; one without is whatever it was begun
// with.
func eraOf(req mcp.Request) era {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || ss.ID() != "" {
		return legacy
	}
	if params := ss.InitializeParams(); params != nil && params.ProtocolVersion < firstModernVersion {
		return legacy
	}
	return modern
}

// receive is the middleware that answers clients. What it does not forward, the
// SDK answers.
func (b *Bridge) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ss, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		carrier := carrierOf(ctx)
		end, err := carrier.count(b, method)
		if err != nil {
			return nil, err
		}
		defer end()
		q := b.query(ctx, method, req, ss)
		if err := b.checkHops(q.hops); err != nil && isCall(method) {
			return nil, err
		}
		if !carrier.legacyOnly || !q.claimsModern() {
			return b.respond(ctx, next, q, req)
		}
		if method == methodDiscover {
			return next(ctx, method, req) // It tells which versions there are.
		}
		return nil, unsupportedVersion(q.meta)
	}
}

// query returns what a client sent.
func (b *Bridge) query(ctx context.Context, method string, req mcp.Request, ss *mcp.ServerSession) *query {
	q := &query{method: method, params: given(req.GetParams()), client: ss, era: eraOf(req)}
	q.meta = maps.Clone(q.params.GetMeta())
	if extra := req.GetExtra(); extra != nil {
		q.header = extra.Header
	}
	switch {
	case method == methodInitialize:
		q.era = legacy
	case q.claimsModern():
		q.era = modern // Where a connection serves both, each request says which it is.
	}
	if q.era == legacy {
		q.session = b.session(ss)
	}
	q.hops = hopsOf(ctx, q.header, q.meta)
	delete(q.meta, metaHops)
	return q
}

// greet answers a client's first question.
func (b *Bridge) greet(ctx context.Context, next mcp.MethodHandler, q *query, req mcp.Request) (mcp.Result, error) {
	if err := b.probe(ctx, b.only(), q.hops); err != nil {
		return nil, err
	}
	if q.method == methodDiscover {
		return b.discover(ctx, next, req)
	}
	return b.initialize(ctx, next, q, req)
}

// claimsModern reports whether the request says itself that it is modern.
func (q *query) claimsModern() bool {
	version, ok := q.meta[metaProtocolVersion].(string)
	return ok && version >= firstModernVersion
}

// isCall reports whether a method has an answer.
func isCall(method string) bool { return !strings.HasPrefix(method, "notifications/") }

// respond answers a query, or has the SDK do so.
func (b *Bridge) respond(ctx context.Context, next mcp.MethodHandler, q *query, req mcp.Request) (mcp.Result, error) {
	if q.session != nil {
		q.session.begun()
	}
	switch q.method {
	case methodInitialize, methodDiscover:
		return b.greet(ctx, next, q, req)
	case methodListTools, methodListPrompts, methodListResources, methodListTemplates:
		if err := q.refused(); err != nil {
			return nil, err
		}
		result, err := b.answer(ctx, q)
		if err != nil {
			return nil, err
		}
		return b.traced(q.method, q.hops, result), nil
	case methodCallTool, methodGetPrompt, methodReadResource, methodComplete,
		methodSubscribe, methodUnsubscribe, methodSetLevel:
		if err := q.refused(); err != nil {
			return nil, err
		}
		return b.answer(ctx, q)
	case noteRootsChanged:
		if q.session != nil {
			q.session.rootsChanged(ctx, q.params)
		}
	}
	return next(ctx, q.method, req)
}

// refused returns the error of a request that lacks the session it needs. The
// methods that work on a session do not exist without one, whatever the era:
// the SDK takes them from who names a legacy version and no session.
func (q *query) refused() error {
	if q.session != nil {
		return nil
	}
	switch q.method {
	case methodSubscribe, methodUnsubscribe, methodSetLevel:
		return methodNotFound(q.method)
	}
	if q.era == legacy {
		return errNoSession
	}
	return nil
}

// answer forwards a request and returns the answer.
func (b *Bridge) answer(ctx context.Context, q *query) (mcp.Result, error) {
	if p, ok := q.params.(*mcp.SetLoggingLevelParams); ok {
		return empty(), q.session.setLevel(ctx, p)
	}
	if _, list := listOf[q.method]; list && !b.relays(q.method) {
		return b.listAll(ctx, q)
	}
	if b.routes(q) {
		return b.routed(ctx, q)
	}
	u, err := b.route(ctx, q)
	if err != nil {
		return nil, err
	}
	defer b.leave(u)
	switch p := q.params.(type) {
	case *mcp.SubscribeParams:
		return empty(), q.session.subscribe(ctx, u, p.URI, true)
	case *mcp.UnsubscribeParams:
		return empty(), q.session.subscribe(ctx, u, p.URI, false)
	}
	return b.offer(ctx, q, u)
}

// empty is the result of what has none.
func empty() *rawResult { return &rawResult{fields: map[string]json.RawMessage{}} }
