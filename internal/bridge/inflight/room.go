// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
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
func (o *room) Refusal(m *rpc.Oversize, err error) []byte {
	if !errors.Is(err, budget.ErrBusy) {
		return nil // Nobody waits for the answer any more.
	}
	return m.Refusal(fault.BusyText, fmt.Sprintf(`{"code":%q,"retryAfterSeconds":%d}`, fault.BusyCode, int(budget.RetryAfter/time.Second)))
}

// Room returns the room for the messages in a body, and the function to call when the body ends. x is the
// call that they answer, nil for none. What a server sends without a call has memory only while it arrives.
func Room(ctx context.Context, x *Call, free *budget.Budget, body io.Closer) (o eventstream.Room, end func()) {
	if x != nil {
		return &room{ctx: ctx, share: x.Delivery.Memory, body: body, call: x}, func() {}
	}
	share := free.Share()
	return &room{ctx: ctx, share: &share, body: body}, share.Close
}
