// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noteCancelled withdraws a request.
const noteCancelled = "notifications/cancelled"

// askingTransport is the transport of a stay whose requests to the client have ids that
// no other stay's have. The SDK numbers the requests of each connection from one,
// so that without it the answer to a question of an earlier process would be
// taken for that to another question of this one: a user may answer a dialog
// minutes after it was asked.
type askingTransport struct {
	*mcp.StreamableServerTransport
	mark string
	conn *askingConn // once it is connected
}

// Connect implements mcp.Transport.
func (a *askingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := a.StreamableServerTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a.conn = &askingConn{
		Connection: c, mark: a.mark + "-",
		incoming: make(chan arrival), closed: make(chan struct{}), calls: map[jsonrpc.ID]*express{},
	}
	go a.conn.listen(context.WithoutCancel(ctx))
	return a.conn, nil
}

// askingConn is the connection of an askingTransport.
type askingConn struct {
	mcp.Connection
	mark string // what is before the SDK's number

	incoming chan arrival
	closed   chan struct{}
	closing  sync.Once

	mu      sync.Mutex
	calls   map[jsonrpc.ID]*express // in progress, nil for those that came over the SDK's HTTP
	rushes  []*express              // whose requests are being answered
	renamed []renamed
}

// arrival is what reading the connection gave.
type arrival struct {
	message jsonrpc.Message
	err     error
}

// Close implements mcp.Connection.
func (c *askingConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// Read implements mcp.Connection. The answer to a question of another stay is
// nobody's.
func (c *askingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.next(ctx)
		response, ok := m.(*jsonrpc.Response)
		if err != nil || !ok {
			return m, err
		}
		if id, ok := c.number(response.ID); ok {
			own := *response
			own.ID = id
			return &own, nil
		}
	}
}

// next returns the next message, whichever way it came.
func (c *askingConn) next(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case r := <-c.incoming:
		return r.message, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	}
}

// number returns the SDK's id of a request, and false for one of another stay.
func (c *askingConn) number(id jsonrpc.ID) (jsonrpc.ID, bool) {
	shown, _ := id.Raw().(string)
	digits, ok := strings.CutPrefix(shown, c.mark)
	if !ok {
		return jsonrpc.ID{}, false
	}
	n, err := strconv.ParseUint(digits, 10, 32) // A session asks less often than that.
	if err != nil {
		return jsonrpc.ID{}, false
	}
	own, err := jsonrpc.MakeID(float64(n))
	return own, err == nil
}

// Write implements mcp.Connection.
func (c *askingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if response, ok := m.(*jsonrpc.Response); ok && c.leave(ctx, response) {
		return nil
	}
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		return c.Connection.Write(ctx, m)
	}
	if e := operationOf(ctx).express(); e != nil {
		e.need(ctx) // What comes before the answer has no other stream.
	}
	shown := *request
	switch {
	case request.IsCall():
		id, err := jsonrpc.MakeID(fmt.Sprint(c.mark, request.ID.Raw()))
		if err != nil {
			return err
		}
		shown.ID = id
	case request.Method == noteCancelled:
		var p struct {
			ID json.Number `json:"requestId"`
		}
		if err := json.Unmarshal(request.Params, &p); err != nil {
			return err
		}
		params, err := withField(request.Params, "requestId", c.mark+p.ID.String())
		if err != nil {
			return err
		}
		shown.Params = params
	}
	return c.Connection.Write(ctx, &shown)
}
