// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
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

// forward sends the request to u. A request that went to a connection which
// turned out to be dead is sent once more on a new one.
func (b *Bridge) forward(ctx context.Context, q *query, u *upstream) (mcp.Result, error) {
	result, again, err := b.forwardOnce(ctx, q, u)
	if again && ctx.Err() == nil {
		result, _, err = b.forwardOnce(ctx, q, u)
	}
	if err != nil {
		return nil, rpcError(err, u.server.Name)
	}
	return result, nil
}

func (b *Bridge) forwardOnce(ctx context.Context, q *query, u *upstream) (result mcp.Result, again bool, err error) {
	l, err := b.link(ctx, q, u)
	if err != nil {
		return nil, false, err
	}
	x := &exchange{ctx: ctx, header: paramHeaders(q.header)}
	x.toClient = func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
		return b.toClient(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: q.client, Params: params})
	}
	params := b.translate(q, l, x)
	end, ok := l.begin(x, params, q.session == nil)
	if !ok {
		return nil, true, errStale
	}
	defer end()
	err = b.pass(ctx, q, l, x, params)
	if x.takeResult() == nil {
		if err == nil {
			return nil, false, errUnreadable
		}
		if lost(err) {
			l.retire()
		}
		return nil, lost(err) && x.harmless(), err
	}
	result, err = q.finish(l, x)
	return result, false, err
}

// pass sends the request to the server. Its answer is in x.
func (b *Bridge) pass(ctx context.Context, q *query, l *link, x *exchange, params mcp.Params) error {
	ctx, cancel := follow(l.grant.rest, ctx)
	defer cancel()
	if x.filter {
		l.hear(ctx, x.level)
	}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	var err error
	if q.era == legacy && l.era == modern {
		err = b.converse(ctx, q, l, x, params)
	} else {
		_, err = l.call(ctx, q.method, params)
	}
	if err != nil && errors.Is(context.Cause(ctx), errStale) {
		return errStale
	}
	return err
}

// finish makes the server's answer one of the client's era.
func (q *query) finish(l *link, x *exchange) (mcp.Result, error) {
	result, err := parseResult(x.takeResult())
	if err != nil {
		return nil, err
	}
	if q.era == modern {
		result.forModern(q.method, l.session.InitializeResult().ServerInfo)
	} else {
		result.forLegacy(q.method)
	}
	return result, nil
}

// link returns the connection on which the query goes to u.
func (b *Bridge) link(ctx context.Context, q *query, u *upstream) (*link, error) {
	if q.session != nil {
		return q.session.connect(ctx, u)
	}
	return u.shared(ctx)
}

// translate returns the parameters with the metadata that the server's era
// asks for. Within one era nothing changes.
func (b *Bridge) translate(q *query, l *link, x *exchange) mcp.Params {
	meta := maps.Clone(q.meta)
	switch {
	case q.era == modern && l.era == legacy:
		x.filter = true
		x.level, _ = meta[metaLogLevel].(string)
		for _, key := range []string{metaProtocolVersion, metaClientInfo, metaClientCaps, metaLogLevel} {
			delete(meta, key)
		}
	case q.era == legacy && l.era == modern:
		if meta == nil {
			meta = map[string]any{}
		}
		maps.Copy(meta, l.meta)
		if level := q.session.logLevel(); level != "" {
			meta[metaLogLevel] = level
		}
	}
	if len(meta) == 0 {
		meta = nil
	}
	q.params.SetMeta(meta)
	return q.params
}
