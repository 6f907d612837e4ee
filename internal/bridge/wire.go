// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is the transport of a link all of whose messages share one stream, as
// over HTTP+SSE and stdio. It is to such a link what the tap is to streamable
// HTTP: it sees the results as the server sent them, and what belongs to which
// request.
type wire struct {
	next mcp.Transport
	link *link
	// patience is how long the server may take to answer the modern protocol's
	// first question before it counts as one that does not know it. Zero waits
	// for ever.
	patience time.Duration
	// hops is the way that requests have come, where it travels in them.
	hops bool
}

// Connect implements mcp.Transport. The context ends the attempt and not the
// connection, which outlives it.
func (w *wire) Connect(ctx context.Context) (mcp.Connection, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	conn, err := w.next.Connect(life)
	if !stop() {
		if err == nil {
			_ = conn.Close()
		}
		err = context.Cause(ctx) // And not that of life, which only follows.
	}
	if err != nil {
		end()
		return nil, err
	}
	c := &wired{
		wire: w, conn: conn, end: end,
		incoming: make(chan heard), injected: make(chan jsonrpc.Message, 1), closed: make(chan struct{}),
		pending: map[jsonrpc.ID]*exchange{},
	}
	go c.listen(life)
	return c, nil
}

// heard is what reading the connection gave.
type heard struct {
	message jsonrpc.Message
	err     error
}

// wired is a connection of a wire.
type wired struct {
	wire *wire
	conn mcp.Connection
	end  context.CancelFunc

	incoming chan heard
	injected chan jsonrpc.Message // what the SDK is to see though the server did not send it
	closed   chan struct{}
	closing  sync.Once

	mu      sync.Mutex
	pending map[jsonrpc.ID]*exchange // the requests that wait for their answers
	probe   *jsonrpc.ID              // the modern protocol's first question, while it waits
}

// SessionID implements mcp.Connection.
func (c *wired) SessionID() string { return c.conn.SessionID() }

// Close implements mcp.Connection.
func (c *wired) Close() error {
	defer c.end()
	c.closing.Do(func() { close(c.closed) })
	return c.conn.Close()
}

// listen reads on its own, so that Read can wait for something else too.
func (c *wired) listen(ctx context.Context) {
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

// Read implements mcp.Connection. What a request's client is to see of it, and
// in which order, is settled here; the SDK sees the rest.
func (c *wired) Read(ctx context.Context) (jsonrpc.Message, error) {
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
			c.answered(m)
		case *jsonrpc.Request:
			if m.IsCall() {
				return c.wire.link.tagged(m), nil
			}
			if c.wire.link.overheard(m.Method, m.Params) {
				continue
			}
		}
		return h.message, nil
	}
}

// answered gives a result to the exchange that waits for it.
func (c *wired) answered(m *jsonrpc.Response) {
	c.mu.Lock()
	x := c.pending[m.ID]
	delete(c.pending, m.ID)
	if c.probe != nil && *c.probe == m.ID {
		c.probe = nil
	}
	c.mu.Unlock()
	if x != nil && m.Error == nil {
		x.answered(m.Result)
	}
}

// Write implements mcp.Connection.
func (c *wired) Write(ctx context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		return c.conn.Write(ctx, m)
	}
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if request.IsCall() {
		if x != nil {
			x.sending()
		}
		c.await(request, x)
		if c.wire.hops {
			request = c.wire.link.wayward(request, x)
		}
	}
	err := c.conn.Write(ctx, request)
	if err != nil && request.IsCall() {
		c.mu.Lock()
		delete(c.pending, request.ID)
		c.mu.Unlock()
	}
	return err
}

// await notes what waits for the answer to a request.
func (c *wired) await(request *jsonrpc.Request, x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x != nil {
		c.pending[request.ID] = x
		id := request.ID
		x.onEnd(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.pending, id)
		})
	}
	if request.Method == methodDiscover && c.wire.patience > 0 {
		id := request.ID
		c.probe = &id
		time.AfterFunc(c.wire.patience, func() { c.giveUp(id) })
	}
}

// giveUp answers the modern protocol's first question for a server that does
// not: some programs say nothing to what they do not know.
func (c *wired) giveUp(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probe == nil || *c.probe != id {
		return
	}
	c.probe = nil
	c.injected <- &jsonrpc.Response{ID: id, Error: methodNotFound(methodDiscover)}
}

// wayward returns the request with the way that it came.
func (l *link) wayward(request *jsonrpc.Request, x *exchange) *jsonrpc.Request {
	hops := l.way.hops(x)
	if hops == "" {
		return request
	}
	params, err := withMeta(request.Params, metaHops, hops)
	if err != nil {
		return request
	}
	marked := *request
	marked.Params = params
	return &marked
}

// tagged returns a server's request with a note of the exchange that it belongs
// to, as far as that can be known.
func (l *link) tagged(request *jsonrpc.Request) *jsonrpc.Request {
	serial := noExchange
	switch x, several := l.sole(); {
	case several:
		serial = severalExchanges
	case x != nil:
		serial = x.serial
	}
	params, err := withMeta(request.Params, metaExchange, serial)
	if err != nil {
		return request
	}
	marked := *request
	marked.Params = params
	return &marked
}

// sole returns the exchange that a question belongs to which names none: the
// newest in flight, where all are of one client, else nil. The question of one
// client's call must not be put to another one, which would answer what it never
// began, so that several clients with calls in flight are nobody.
func (l *link) sole() (found *exchange, several bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.exchanges {
		if x.takeResult() != nil || !mayAsk(x.method) {
			continue // Nothing is asked for it.
		}
		if found != nil && (x.session == nil || x.session != found.session) {
			return nil, true // Clients without a session cannot be told apart.
		}
		found = x
	}
	return found, false
}

// overheard passes a notification on to the exchange that it belongs to, and
// reports whether it concerns nobody else.
func (l *link) overheard(method string, params json.RawMessage) bool {
	var x *exchange
	switch method {
	case noteProgress:
		x = l.holder(params)
	case noteMessage:
		x = l.likely(func(x *exchange) bool { return !x.filter || x.wants(params) })
	case noteElicitDone:
		x = l.likely(func(x *exchange) bool { return x.ask != nil })
		if x != nil && x.ask == nil {
			x = nil // Sessions are told on their own.
		}
	}
	if x == nil {
		return false
	}
	x.outbox.put(note{method, params}, func(n note) { x.notify(n.method, n.raw) })
	// A session of the shared connection may have asked just as well.
	return method != noteElicitDone || !l.shared
}

// holder returns the exchange in flight whose progress a notification tells.
func (l *link) holder(params json.RawMessage) *exchange {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil || p.Token == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.exchanges {
		shown := x.token
		if x.alias != "" {
			shown = x.alias
		}
		if token, err := json.Marshal(shown); shown != nil && err == nil && string(token) == string(p.Token) {
			return x
		}
	}
	return nil
}

// likely returns the exchange that a message of the server belongs to which
// names none: the only one in flight, else the newest that fits, else nil.
func (l *link) likely(fits func(*exchange) bool) *exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *exchange
	waiting := 0
	for _, x := range l.exchanges {
		if x.takeResult() != nil {
			continue // It has its answer, and nothing comes after that.
		}
		waiting++
		if waiting == 1 || fits(x) {
			found = x
		}
	}
	if waiting > 1 && !fits(found) {
		return nil
	}
	return found
}

// withMeta returns the parameters of a request with v under key in their
// metadata.
func withMeta(params json.RawMessage, key string, v any) (json.RawMessage, error) {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	var p struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("read _meta: %w", err)
	}
	if p.Meta == nil {
		p.Meta = json.RawMessage("{}")
	}
	meta, err := withField(p.Meta, key, v)
	if err != nil {
		return nil, err
	}
	return withField(params, "_meta", meta)
}
