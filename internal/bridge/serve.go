// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

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
	// session is the client's, nil for a modern request.
	session *session
}

// eraOf returns the era of a request or of the session that a notification is
// sent to: only legacy sessions have an id.
func eraOf(req mcp.Request) era {
	if req.GetSession().ID() == "" {
		return modern
	}
	return legacy
}

// receive is the middleware that answers clients. What it does not forward, the
// SDK answers.
func (b *Bridge) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ss, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		q := &query{method: method, params: given(req.GetParams()), client: ss, era: eraOf(req), session: b.session(ss)}
		q.meta = maps.Clone(q.params.GetMeta())
		if extra := req.GetExtra(); extra != nil {
			q.header = extra.Header
		}
		switch method {
		case methodInitialize:
			return b.initialize(ctx, next, req)
		case methodDiscover:
			return b.discover(ctx, next, req)
		case methodListTools, methodListPrompts, methodListResources, methodListTemplates,
			methodCallTool, methodGetPrompt, methodReadResource, methodComplete,
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
		return next(ctx, method, req)
	}
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
	if _, list := listOf[q.method]; list && !b.transparent() {
		return b.listAll(ctx, q)
	}
	u, err := b.route(ctx, q)
	if err != nil {
		return nil, err
	}
	switch p := q.params.(type) {
	case *mcp.SubscribeParams:
		return empty(), q.session.subscribe(ctx, u, p.URI, true)
	case *mcp.UnsubscribeParams:
		return empty(), q.session.subscribe(ctx, u, p.URI, false)
	}
	return b.forward(ctx, q, u)
}

// empty is the result of what has none.
func empty() *rawResult { return &rawResult{fields: map[string]json.RawMessage{}} }
