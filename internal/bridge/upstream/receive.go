// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

var _ client.Receiver = (*Conn)(nil)

// callOf returns the call that observes a request, nil for other requests.
func callOf(of client.Observer) *inflight.Call {
	x, _ := of.(*inflight.Call)
	return x
}

// Asked implements client.Receiver.
func (l *Conn) Asked(ctx context.Context, s *client.Session, of client.Observer, m rpc.Message) {
	// The answer does not end with the request in whose answer the question came.
	open, err := l.asked.Enter(context.WithoutCancel(ctx), m.ID, m.Method)
	if err != nil {
		return
	}
	params := &message.Params{Raw: m.Params, Call: l.Calls.serialOf(callOf(of)), Withdrawn: &open.Withdrawal}
	go func() {
		defer l.asked.Leave(open)
		result, err := l.answer(open.Ctx, m, params, open.Refused) //nolint:contextcheck // The server cancels it.
		if _, withdrawn := open.Withdrawal.Get(); withdrawn {
			return
		}
		var failure *jsonrpc.Error
		if err != nil && !errors.As(err, &failure) {
			failure = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		_ = s.Answer(context.WithoutCancel(ctx), m.ID, result, failure) // The server may be gone.
	}()
}

// answer returns the answer to a request of the server. refused says that the server asks too much at once.
func (l *Conn) answer(ctx context.Context, m rpc.Message, params *message.Params, refused bool) (json.RawMessage, error) {
	switch method := methods.Of(m.Method); {
	case message.IsFraction(m.ID):
		return nil, message.ErrFractionalID
	case m.Method == methods.Ping:
		return json.RawMessage("{}"), nil
	case !method.IsQuestion():
		return nil, fault.MethodNotFound(m.Method)
	case refused:
		return nil, fault.TooManyQuestions(inflight.MaxQuestions)
	}
	if !l.notes.open() {
		return nil, client.ErrClosed
	}
	// A question without an answer would keep the connection open.
	ctx, cancel := egress.FollowContext(ctx, l.grant.Grace)
	defer cancel()
	result, err := l.peer.HandleRequest(ctx, l, m.Method, params)
	if err != nil {
		return nil, err
	}
	return message.RawAnswer(result)
}

// Notified implements client.Receiver.
func (l *Conn) Notified(ctx context.Context, _ client.Observer, m rpc.Message) {
	if m.Method == methods.Cancelled {
		l.asked.Withdraw(m.Params)
	}
	if l.oneStream() && l.Calls.notification(m.Method, m.Params) {
		return
	}
	if !methods.Of(m.Method).ToClients() || !l.asked.EnterNote(ctx, len(m.Params)) {
		return
	}
	l.notes.put(inflight.Notification{Method: m.Method, Raw: m.Params})
}

// handleNote handles a notification that belongs to no call.
func (l *Conn) handleNote(n inflight.Notification) {
	defer l.asked.LeaveNote()
	if n.Method == methods.Progress && l.Calls.progress(n.Raw) {
		return
	}
	l.Tools.noteChange(n.Method)
	l.peer.HandleNotification(l, n.Method, &message.Params{Raw: n.Raw})
}

// noteQueue handles the notifications of a server one after the other, so that its messages can be read in
// the meantime. inflight.Asked bounds them.
type noteQueue struct {
	conn *Conn
	// ready is closed when the connection is open.
	ready chan struct{}

	mu    sync.Mutex
	notes []inflight.Notification
	busy  bool
}

func (q *noteQueue) put(n inflight.Notification) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notes = append(q.notes, n)
	if !q.busy {
		q.busy = true
		go q.work()
	}
}

// open waits until the connection is open. It returns false if it does not open.
func (q *noteQueue) open() bool {
	select {
	case <-q.ready:
		return true
	case <-q.conn.asked.Ended():
		return false
	}
}

// work handles notifications until there are none.
func (q *noteQueue) work() {
	if !q.open() {
		return
	}
	for {
		q.mu.Lock()
		if len(q.notes) == 0 {
			q.busy = false
			q.mu.Unlock()
			return
		}
		n := q.notes[0]
		q.notes = q.notes[1:]
		q.mu.Unlock()
		q.conn.handleNote(n)
	}
}
