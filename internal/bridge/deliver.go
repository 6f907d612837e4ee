// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inputrequired"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
)

// delivery sends requests to servers.
type delivery struct {
	set *serverSet

	// suspended and pool serve modern clients to which a legacy server may send requests.
	suspended *inputrequired.SuspendedCalls
	pool      *inputrequired.Pool
}

// deliver sends the request to u once and returns the answer in the client's era. again says that
// the request failed before it was delivered. A request with the client's answer to a server's
// question continues the call that asked.
func (d *delivery) deliver(ctx context.Context, q *message.Request, u *upstream.Server) (result mcp.Result, again bool, err error) {
	if u.Availability.ToolsMismatch() != nil {
		if _, err := u.Shared(ctx); err != nil {
			return nil, false, err
		}
	}
	p, err := d.suspended.Resume(ctx, q, u)
	if err != nil {
		return nil, false, err
	}
	if p != nil {
		done := d.suspended.Await(ctx, p)
		return done.Result, false, done.Err // It was delivered before.
	}
	p, done := d.launch(ctx, q, u)
	if p != nil {
		done = d.suspended.Await(ctx, p)
	}
	return done.Result, done.Again, done.Err
}

// launch sends the request. It returns the outcome, or the call if its server may ask the client
// questions in the meantime.
func (d *delivery) launch(ctx context.Context, q *message.Request, u *upstream.Server) (*inputrequired.SuspendedCall, inputrequired.Outcome) {
	caps := q.Askable()
	l, release, err := d.link(ctx, q, u, caps)
	if err != nil {
		return nil, inputrequired.Outcome{Err: err}
	}
	if err := l.Tools.MayCall(ctx, q); err != nil {
		release()
		return nil, inputrequired.Outcome{Again: fault.ConnectionLost(err), Err: err}
	}
	if state, _ := q.Input(); state != "" && l.Era == message.Legacy {
		release()
		return nil, inputrequired.Outcome{Err: fault.NewState("request_state_invalid", "requestState is not one that this bridge gave")}
	}
	x := &inflight.Call{Ctx: ctx, Method: q.Method, ToClient: q.Send, Client: q.Session, Header: u.Lists.RepeatHeaders(q), Hops: q.Hops, Trace: q.Trace()}
	x.Delivery.Memory = callaudit.MemoryOf(ctx)
	if q.Sent != nil {
		x.Delivery.Withdrawn = &q.Sent.Withdrawn
	}
	x.OnQuestion = pipeline.QuestionObserver(ctx)
	var p *inputrequired.SuspendedCall
	if caps != nil && l.Era == message.Legacy {
		p = d.suspended.Suspend(q, u, l, caps, x)
	}
	params := d.translateMeta(q, l, x)
	end, ok := l.Calls.Begin(x, params, q.Session == nil)
	if !ok {
		release()
		return nil, inputrequired.Outcome{Again: true, Err: fault.ErrStale}
	}
	send := func(ctx context.Context) inputrequired.Outcome {
		defer release()
		defer end()
		return d.sendOnce(ctx, q, l, x, params)
	}
	if p == nil {
		return nil, send(ctx)
	}
	d.suspended.Start(p, send) //nolint:contextcheck // The call outlives the request that started it.
	return p, inputrequired.Outcome{}
}

// sendOnce sends the request on a connection and returns the outcome.
func (d *delivery) sendOnce(ctx context.Context, q *message.Request, l *upstream.Conn, x *inflight.Call, params *message.Outgoing) inputrequired.Outcome {
	err := d.sendTo(ctx, q, l, x, params)
	if x.Delivery.Result() == nil {
		if failure := x.Delivery.Failure(); failure != nil {
			return inputrequired.Outcome{Err: failure}
		}
		if fault.ConnectionLost(err) {
			l.Life.Retire()
		}
		return inputrequired.Outcome{Again: fault.ConnectionLost(err) && x.Delivery.NotDelivered(), Err: err}
	}
	result, err := l.Finish(q, x)
	return inputrequired.Outcome{Result: result, Err: err}
}

// sendTo sends the request to the server. The answer is in x.
func (d *delivery) sendTo(ctx context.Context, q *message.Request, l *upstream.Conn, x *inflight.Call, params *message.Outgoing) error {
	ctx, cancel := egress.FollowContext(l.GraceContext(), ctx)
	defer cancel()
	if x.Log.Filter {
		l.Audience.RaiseLogLevel(ctx, x.Log.Level)
	}
	var err error
	if q.Era == message.Legacy && l.Era == message.Modern {
		err = inputrequired.Converse(ctx, q, l, x, params)
	} else {
		_, err = l.Call(ctx, q.Method, params.OnWire(q), x)
	}
	// The connection may close before ctx ends, since both follow the same deadline.
	if err != nil && l.CutOff() {
		return fault.ErrStale
	}
	return err
}

// link returns the connection on which the request goes to u, and the function that releases it.
// caps are the client's capabilities for questions, nil for none.
func (d *delivery) link(ctx context.Context, q *message.Request, u *upstream.Server, caps *mcp.ClientCapabilities) (l *upstream.Conn, release func(), err error) {
	nothing := func() {}
	if err := d.set.checkLoop(ctx, u, q.Hops); err != nil {
		return nil, nil, err
	}
	if q.Session != nil {
		l, err = sessionOf(q).connect(ctx, u)
		return l, nothing, err
	}
	l, err = u.Shared(ctx)
	if err != nil || caps == nil || l.Era == message.Modern || l.Shared {
		return l, nothing, err
	}
	return d.pool.Get(ctx, u, caps)
}

// translateMeta returns the parameters with the metadata that the server's era requires. If client
// and server have the same era, nothing changes.
func (d *delivery) translateMeta(q *message.Request, l *upstream.Conn, x *inflight.Call) *message.Outgoing {
	meta := maps.Clone(q.Meta)
	switch {
	case q.Era == message.Modern && l.Era == message.Legacy:
		x.Log.Filter = true
		x.Log.Level, _ = meta[message.MetaLogLevel].(string)
		for _, key := range []string{message.MetaProtocolVersion, message.MetaClientInfo, message.MetaClientCaps, message.MetaLogLevel} {
			delete(meta, key)
		}
	case q.Era == message.Legacy && l.Era == message.Modern:
		if meta == nil {
			meta = map[string]any{}
		}
		maps.Copy(meta, l.Audience.About(q.Session))
		if level := q.Session.LogLevel(); level != "" {
			meta[message.MetaLogLevel] = level
		}
	}
	if len(meta) == 0 && len(q.Meta) > 0 {
		meta = nil
	}
	return q.Outgoing(meta)
}
