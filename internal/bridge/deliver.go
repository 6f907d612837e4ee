// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deliver sends the request to u once and returns its answer in the client's
// era. again says that it failed without having been delivered.
func (b *Bridge) deliver(ctx context.Context, q *query, u *upstream) (result mcp.Result, again bool, err error) {
	l, err := b.link(ctx, q, u)
	if err != nil {
		return nil, false, err
	}
	x := &exchange{ctx: ctx, session: q.session, header: paramHeaders(q.header)}
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
