// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
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
		pending: map[jsonrpc.ID]*inflight.Call{}, waiting: map[jsonrpc.ID]bool{},
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
	pending map[jsonrpc.ID]*inflight.Call // the calls that wait for answers
	waiting map[jsonrpc.ID]bool           // all requests that wait for answers
	newest  int64                         // the last request's id
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
			return c.answered(ctx, m), nil
		case *jsonrpc.Request:
			packed, err := c.asked(ctx, m)
			if err != nil {
				return nil, err
			}
			if packed == nil {
				continue
			}
			return packed, nil
		}
		return h.message, nil
	}
}

// asked returns a request or a notification of the server as the SDK gets it, nil for nothing.
func (c *streamObserver) asked(ctx context.Context, m *jsonrpc.Request) (*jsonrpc.Request, error) {
	l := c.wire.link
	if !m.IsCall() {
		c.observeQuestion(m)
		if l.Calls.notification(m.Method, m.Params) || !l.asked.EnterNote(ctx, m.Method, len(m.Params)) {
			return nil, nil
		}
		return l.Calls.pack(m), nil
	}
	refused, err := l.asked.Enter(ctx, inflight.IDText(m.ID.Raw()), m.Method)
	switch {
	case errors.Is(err, inflight.ErrRepeated):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.observeQuestion(m)
	packed := l.Calls.pack(m)
	if refused {
		packed.Params = message.Pack(m.Params, inflight.RefusedExchange, idText(m.ID))
	}
	return packed, nil
}

// answered passes a result to the call that waits for it. It returns the answer for the SDK: an
// error for the request to which an invalid answer belongs.
func (c *streamObserver) answered(ctx context.Context, m *jsonrpc.Response) *jsonrpc.Response {
	c.mu.Lock()
	if id, ok := c.misaddressed(m.ID); ok {
		m = &jsonrpc.Response{ID: id, Error: misaddressedFault(m)}
	}
	x := c.pending[m.ID]
	delete(c.pending, m.ID)
	delete(c.waiting, m.ID)
	if c.probe != nil && *c.probe == m.ID {
		c.probe = nil
	}
	introduces := c.introduction == m.ID
	c.mu.Unlock()
	if introduces && len(m.Result) > MaxIntroduction {
		m.Result, m.Error = nil, errLargeIntroduction
	}
	switch {
	case x == nil:
	case m.Error != nil:
		x.Delivery.SetFailed()
	default:
		c.take(ctx, m, x)
	}
	return m
}

// take passes a result to its call. The SDK gets an empty one: what it makes of it is not used.
func (c *streamObserver) take(ctx context.Context, m *jsonrpc.Response, x *inflight.Call) {
	if err := x.Delivery.Memory.Count(ctx, len(m.Result)); err != nil {
		x.Delivery.Fail(err)
	} else {
		x.Delivery.SetResult(m.Result)
	}
	m.Result = emptyResult
}

// misaddressed returns the request that an answer with an unknown id belongs to: the request whose
// number is the text of the id, or the only one that waits. An id that a request had is not
// unknown, since the answer to a cancelled request may come late. The caller holds c.mu.
func (c *streamObserver) misaddressed(id jsonrpc.ID) (jsonrpc.ID, bool) {
	if c.waiting[id] {
		return jsonrpc.ID{}, false
	}
	if n, ok := id.Raw().(int64); ok && 0 < n && n <= c.newest {
		return jsonrpc.ID{}, false
	}
	var only jsonrpc.ID
	for waiting := range c.waiting {
		if id.Raw() == any(fmt.Sprint(waiting.Raw())) {
			return waiting, true
		}
		only = waiting
	}
	return only, len(c.waiting) == 1
}

// misaddressedFault returns the error that replaces an answer with an unknown id. An answer that was
// replaced before keeps its error.
func misaddressedFault(m *jsonrpc.Response) error {
	if m.ID.Raw() == any("") && m.Error != nil {
		return m.Error
	}
	return message.InvalidAnswer("its id is not that of the request")
}

// Write implements mcp.Connection.
func (c *streamObserver) Write(ctx context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		return c.writeAnswer(ctx, m)
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
	request = inWordsOfClient(request, x)
	err := c.conn.Write(ctx, request)
	if x != nil {
		x.Delivery.Memory.Sent()
	}
	switch {
	case request.Method == methods.Cancelled:
		c.withdrawn(request.Params)
	case err != nil && request.IsCall():
		c.forget(request.ID)
	}
	return err
}

// inWordsOfClient returns the notification that cancels the call x in the client's words. Other
// messages stay.
func inWordsOfClient(request *jsonrpc.Request, x *inflight.Call) *jsonrpc.Request {
	if request.Method != methods.Cancelled || x == nil || x.Delivery.Withdrawn == nil {
		return request
	}
	merged := *request
	merged.Params = x.Delivery.Withdrawn.Merge(request.Params)
	return &merged
}

// observeQuestion keeps the server's open questions.
func (c *streamObserver) observeQuestion(m *jsonrpc.Request) {
	switch {
	case m.Method == methods.Cancelled:
		c.wire.link.asked.Questions.Withdraw(m.Params)
	case m.IsCall():
		c.wire.link.asked.Questions.Asked(idText(m.ID))
	}
}

// writeAnswer sends the answer to a question, unless the server cancelled it.
func (c *streamObserver) writeAnswer(ctx context.Context, m jsonrpc.Message) error {
	if answer, ok := m.(*jsonrpc.Response); ok {
		defer c.wire.link.asked.Leave(inflight.IDText(answer.ID.Raw()))
		if c.wire.link.asked.Questions.Answered(idText(answer.ID)) {
			return nil
		}
	}
	return c.conn.Write(ctx, m)
}

// idText returns an id as JSON.
func idText(id jsonrpc.ID) json.RawMessage {
	text, err := json.Marshal(id.Raw())
	if err != nil {
		panic(err) // an id is a text or a number
	}
	return text
}

// withdrawn ends the wait for the answer to a cancelled request.
func (c *streamObserver) withdrawn(params json.RawMessage) {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.ID); err == nil {
		c.forget(id)
	}
}

func (c *streamObserver) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	delete(c.waiting, id)
}

// await records which call waits for the answer to a request.
func (c *streamObserver) await(request *jsonrpc.Request, x *inflight.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[request.ID] = true
	if n, ok := request.ID.Raw().(int64); ok {
		c.newest = max(c.newest, n)
	}
	if x != nil {
		c.pending[request.ID] = x
		id := request.ID
		x.Delivery.OnEnd(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.pending, id)
		})
	}
	if methods.Of(request.Method).Introduces {
		c.introduction = request.ID
	}
	if request.Method == methods.Discover && c.wire.patience > 0 {
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
	c.injected <- &jsonrpc.Response{ID: id, Error: fault.MethodNotFound(methods.Discover)}
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
