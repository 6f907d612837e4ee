// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

// room gives memory to the answers in one body.
type room struct {
	ctx    context.Context
	share  *budget.Share
	body   io.Closer
	call   *Call // nil for what a server sends without a call
	answer *budget.Answer
}

// Take implements eventstream.Room.
func (o *room) Take(n int) error {
	answer, err := o.share.TakeAnswer(o.ctx, int64(n), func() { _ = o.body.Close() })
	o.answer = answer
	return err
}

// Received implements eventstream.Room.
func (o *room) Received(n int) {
	if o.call == nil {
		n = 0
	}
	if !o.answer.Received(n) && o.call != nil {
		o.call.Delivery.Fail(budget.ErrBusy)
	}
	o.answer = nil
}

// Refusal implements eventstream.Room.
func (o *room) Refusal(m *oversize.Message, err error) []byte {
	if !errors.Is(err, budget.ErrBusy) {
		return nil // Nobody waits for the answer any more.
	}
	return m.Refusal(fault.BusyText, fmt.Sprintf(`{"code":%q,"retryAfterSeconds":%d}`, fault.BusyCode, int(budget.RetryAfter/time.Second)))
}

// roomOf returns the room for the answers in a body, and the function to call when the body ends.
// What a server sends without a call has memory only while it arrives.
func roomOf(ctx context.Context, x *Call, free *budget.Budget, body io.Closer) (o *room, end func()) {
	if x != nil {
		return &room{ctx: ctx, share: x.Delivery.Memory, body: body, call: x}, func() {}
	}
	share := free.Share()
	return &room{ctx: ctx, share: &share, body: body}, share.Close
}

// readJSON reads a body that is one message of at most most bytes. A larger one, and one for which
// there is no memory, becomes an error for the request that it answers.
func readJSON(resp *http.Response, most int, o *room) ([]byte, error) {
	known := resp.ContentLength
	if known > int64(most) {
		return instead(nil, resp.Body, func(m *oversize.Message) []byte { return m.Answer(most) })
	}
	var begun []byte
	if known < 0 {
		var err error
		if begun, err = io.ReadAll(io.LimitReader(resp.Body, eventstream.MaxUncounted+1)); err != nil {
			return nil, err
		}
		if known = int64(most); len(begun) <= eventstream.MaxUncounted {
			known = int64(len(begun))
		}
	}
	if err := o.Take(int(known)); err != nil {
		return instead(begun, resp.Body, func(m *oversize.Message) []byte { return o.Refusal(m, err) })
	}
	rest, err := message.ReadAll(io.LimitReader(resp.Body, int64(most+1-len(begun))), resp.ContentLength)
	body := rest
	if len(begun) > 0 {
		body = append(begun, rest...)
	}
	o.Received(min(len(body), most))
	if err == nil && len(body) > most {
		return instead(body, resp.Body, func(m *oversize.Message) []byte { return m.Answer(most) })
	}
	return body, err
}

// instead reads the rest of a message that starts with begun, and returns what refuse makes of it.
func instead(begun []byte, rest io.Reader, refuse func(*oversize.Message) []byte) ([]byte, error) {
	m := &oversize.Message{}
	_, _ = m.Write(begun)
	if _, err := io.Copy(m, rest); err != nil {
		return nil, err
	}
	if answer := refuse(m); answer != nil {
		return answer, nil
	}
	return nil, errAnswerTooLarge
}
