// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

// streamTransport is the transport of a connection with a single stream for all messages, as in
// HTTP+SSE and stdio. Like inflight.HTTPObserver for streamable HTTP, it sees the results as the
// server sent them, and which message belongs to which request.
type streamTransport struct {
	next mcp.Transport
	link *Conn
	// patience limits the wait for the answer to the first request of the modern protocol. A
	// server that does not answer in time counts as a legacy server. Zero means no limit.
	patience time.Duration
	// hops says that requests carry their hops in the metadata.
	hops bool
}

// Connect implements mcp.Transport. ctx limits the attempt, not the connection.
func (w *streamTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	conn, err := w.next.Connect(life)
	if !stop() {
		if err == nil {
			_ = conn.Close()
		}
		err = context.Cause(ctx) // Not the cause of life, which only follows.
	}
	if err != nil {
		end()
		return nil, err
	}
	c := &streamObserver{
		wire: w, conn: conn, end: end,
		incoming: make(chan heard), injected: make(chan jsonrpc.Message, 1), closed: make(chan struct{}),
		pending: map[jsonrpc.ID]*inflight.Call{},
	}
	go c.listen(life)
	return c, nil
}

// heard is the result of reading a message.
type heard struct {
	message jsonrpc.Message
	err     error
}

// streamObserver is a connection of a streamTransport.
type streamObserver struct {
	wire *streamTransport
	conn mcp.Connection
	end  context.CancelFunc

	incoming chan heard
	injected chan jsonrpc.Message // messages for the SDK that the server did not send
	closed   chan struct{}
	closing  sync.Once

	mu      sync.Mutex
	pending map[jsonrpc.ID]*inflight.Call // the requests that wait for answers
	// introduction is the id of the last request that asked the server what it is.
	introduction jsonrpc.ID
	probe        *jsonrpc.ID // id of the modern protocol's first request, while it waits
}

// SessionID implements mcp.Connection.
func (c *streamObserver) SessionID() string { return c.conn.SessionID() }

// Close implements mcp.Connection.
func (c *streamObserver) Close() error {
	defer c.end()
	c.closing.Do(func() { close(c.closed) })
	return c.conn.Close()
}

// listen reads in its own goroutine, so that Read can also wait for other events.
func (c *streamObserver) listen(ctx context.Context) {
	for {
		m, err := c.conn.Read(ctx)
		select {
		case c.incoming <- heard{m, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements mcp.Connection. It handles messages for a request's client, in order, and passes
// the others to the SDK.
func (c *streamObserver) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var h heard
		select {
		case h = <-c.incoming:
		case m := <-c.injected:
			return m, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
		if h.err != nil {
			return nil, h.err
		}
		switch m := h.message.(type) {
		case *jsonrpc.Response:
			c.answered(ctx, m)
		case *jsonrpc.Request:
			marked, err := c.asked(ctx, m)
			if err != nil {
				return nil, err
			}
			if marked == nil {
				continue
			}
			return marked, nil
		}
		return h.message, nil
	}
}

// asked returns a request or a notification of the server as the SDK gets it, nil for nothing.
func (c *streamObserver) asked(ctx context.Context, m *jsonrpc.Request) (*jsonrpc.Request, error) {
	l := c.wire.link
	if !m.IsCall() {
		if l.Calls.notification(m.Method, m.Params) || !l.asked.EnterNote(ctx, m.Method, len(m.Params)) {
			return nil, nil
		}
		return m, nil
	}
	refused, err := l.asked.Enter(ctx, inflight.IDText(m.ID.Raw()), m.Method)
	switch {
	case errors.Is(err, inflight.ErrRepeated):
		return nil, nil
	case err != nil:
		return nil, err
	case refused:
		return marked(m, inflight.RefusedExchange), nil
	}
	return l.Calls.tagQuestion(m), nil
}

// answered passes a result to the call that waits for it.
func (c *streamObserver) answered(ctx context.Context, m *jsonrpc.Response) {
	c.mu.Lock()
	x := c.pending[m.ID]
	delete(c.pending, m.ID)
	if c.probe != nil && *c.probe == m.ID {
		c.probe = nil
	}
	introduces := c.introduction == m.ID
	c.mu.Unlock()
	if introduces && len(m.Result) > MaxIntroduction {
		m.Result, m.Error = nil, errLargeIntroduction
	}
	if x != nil && m.Error == nil {
		if err := x.Delivery.Memory.Count(ctx, len(m.Result)); err != nil {
			x.Delivery.Fail(err)
			m.Result = emptyResult
			return
		}
		x.Delivery.SetResult(m.Result)
		if !x.Delivery.Typed {
			m.Result = emptyResult // What the SDK makes of the result is not used.
		}
	}
}

// Write implements mcp.Connection.
func (c *streamObserver) Write(ctx context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		if answer, ok := m.(*jsonrpc.Response); ok {
			defer c.wire.link.asked.Leave(inflight.IDText(answer.ID.Raw()))
		}
		return c.conn.Write(ctx, m)
	}
	x, _ := ctx.Value(inflight.CallKey{}).(*inflight.Call)
	if request.IsCall() {
		if x != nil {
			x.Delivery.Sending()
		}
		c.await(request, x)
		if c.wire.hops {
			request = c.wire.link.wayward(request, x)
		}
	}
	err := c.conn.Write(ctx, request)
	if x != nil {
		x.Delivery.Memory.Sent()
	}
	if err != nil && request.IsCall() {
		c.mu.Lock()
		delete(c.pending, request.ID)
		c.mu.Unlock()
	}
	return err
}

// await records which call waits for the answer to a request.
func (c *streamObserver) await(request *jsonrpc.Request, x *inflight.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x != nil {
		c.pending[request.ID] = x
		id := request.ID
		x.Delivery.OnEnd(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.pending, id)
		})
	}
	if request.Method == message.MethodDiscover || request.Method == message.MethodInitialize {
		c.introduction = request.ID
	}
	if request.Method == message.MethodDiscover && c.wire.patience > 0 {
		id := request.ID
		c.probe = &id
		time.AfterFunc(c.wire.patience, func() { c.giveUp(id) })
	}
}

// giveUp answers the modern protocol's first request in place of the server: some programs do not
// answer unknown methods.
func (c *streamObserver) giveUp(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probe == nil || *c.probe != id {
		return
	}
	c.probe = nil
	c.injected <- &jsonrpc.Response{ID: id, Error: fault.MethodNotFound(message.MethodDiscover)}
}

// wayward returns the request with its hops.
func (l *Conn) wayward(request *jsonrpc.Request, x *inflight.Call) *jsonrpc.Request {
	hops := l.way.Hops(x)
	if hops == "" {
		return request
	}
	params, err := message.WithMeta(request.Params, message.MetaHops, hops)
	if err != nil {
		return request
	}
	marked := *request
	marked.Params = params
	return &marked
}
