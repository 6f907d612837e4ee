// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deliver sends the request to u once and returns its answer in the client's
// era. again says that it failed without having been delivered. A request that
// brings what its server asked for goes on with the call that it belongs to.
func (b *Bridge) deliver(ctx context.Context, q *query, u *upstream) (result mcp.Result, again bool, err error) {
	if u.drift() != nil {
		if _, err := u.shared(ctx); err != nil {
			return nil, false, err
		}
	}
	p, err := b.retake(ctx, q, u)
	if err != nil {
		return nil, false, err
	}
	if p != nil {
		done := b.attend(ctx, p)
		return done.result, false, done.err // It was delivered before.
	}
	p, done := b.launch(ctx, q, u)
	if p != nil {
		done = b.attend(ctx, p)
	}
	return done.result, done.again, done.err
}

// launch sends the request. It returns how that ended, or the call if its server
// may ask the client in between.
func (b *Bridge) launch(ctx context.Context, q *query, u *upstream) (*parked, outcome) {
	caps := q.askable()
	l, release, err := b.link(ctx, q, u, caps)
	if err != nil {
		return nil, outcome{err: err}
	}
	if err := l.clears(ctx, q); err != nil {
		release()
		return nil, outcome{again: lost(err), err: err}
	}
	if state, _ := q.input(); state != "" && l.era == legacy {
		release()
		return nil, outcome{err: stateError("request_state_invalid", "requestState is not one that this bridge gave")}
	}
	x := &exchange{ctx: ctx, method: q.method, session: q.session, header: q.paramHeaders(u), hops: q.hops, trace: q.traceOf()}
	x.toClient = func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
		return b.toClient(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: q.client, Params: params})
	}
	var p *parked
	if caps != nil && l.era == legacy {
		p = b.parks(q, u, l, caps, x)
	}
	params := b.translate(q, l, x)
	end, ok := l.begin(x, params, q.session == nil)
	if !ok {
		release()
		return nil, outcome{again: true, err: errStale}
	}
	send := func(ctx context.Context) outcome {
		defer release()
		defer end()
		return b.carry(ctx, q, l, x, params)
	}
	if p == nil {
		return nil, send(ctx)
	}
	b.detach(p, send) //nolint:contextcheck // The call outlives the request that began it.
	return p, outcome{}
}

// paramHeaders returns the headers that repeat arguments of a tool. A client
// that has no headers to send sends none, and the server wants them all the same.
func (q *query) paramHeaders(u *upstream) http.Header {
	p, ok := q.params.(*mcp.CallToolParamsRaw)
	if q.header != nil || !ok {
		return paramHeaders(q.header)
	}
	found := http.Header{}
	if tool, ok := u.find(methodListTools, p.Name); ok {
		for name, value := range headersOf(tool.raw, p.Arguments) {
			found.Set(name, value)
		}
	}
	return found
}

// carry sends the request on a connection and returns how that ended.
func (b *Bridge) carry(ctx context.Context, q *query, l *link, x *exchange, params mcp.Params) outcome {
	err := b.pass(ctx, q, l, x, params)
	if x.takeResult() == nil {
		if err == nil {
			return outcome{err: errUnreadable}
		}
		if lost(err) {
			l.retire()
		}
		return outcome{again: lost(err) && x.harmless(), err: err}
	}
	result, err := q.finish(l, x)
	return outcome{result: result, err: err}
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
		x.suffices = !b.options.thorough
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

// link returns the connection on which the query goes to u, and what gives it
// back. caps are what u may ask the client of, nil for nothing.
func (b *Bridge) link(ctx context.Context, q *query, u *upstream, caps *mcp.ClientCapabilities) (l *link, release func(), err error) {
	nothing := func() {}
	if err := b.probe(ctx, u, q.hops); err != nil {
		return nil, nil, err
	}
	if q.session != nil {
		l, err = q.session.connect(ctx, u)
		return l, nothing, err
	}
	l, err = u.shared(ctx)
	if err != nil || caps == nil || l.era == modern || l.shared {
		return l, nothing, err
	}
	return b.capable.connect(ctx, u, caps)
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
		maps.Copy(meta, l.about(q.session))
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
