// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Program returns next, the transport to a server that is a program, with its messages counted.
func (w *Watch) Program(server string, next mcp.Transport) mcp.Transport {
	if w == nil {
		return next
	}
	return &program{next: next, traffic: w.of(server)}
}

type program struct {
	next    mcp.Transport
	traffic *traffic
}

// Connect implements mcp.Transport.
func (p *program) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.next.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, traffic: p.traffic, open: map[jsonrpc.ID]*exchange{}}, nil
}

type connection struct {
	mcp.Connection
	traffic *traffic

	mu   sync.Mutex
	open map[jsonrpc.ID]*exchange
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.traffic.pass(int64(len(m.Result)))
		c.answered(m.ID)
	case *jsonrpc.Request:
		c.traffic.pass(int64(len(m.Params)))
	}
	return m, err
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if request, ok := m.(*jsonrpc.Request); ok {
		c.traffic.pass(int64(len(request.Params)))
		if request.IsCall() && !methods.Of(request.Method).Stream {
			x := c.traffic.begin()
			c.mu.Lock()
			c.open[request.ID] = x
			c.mu.Unlock()
		}
	}
	return c.Connection.Write(ctx, m)
}

// Close implements mcp.Connection.
func (c *connection) Close() error {
	c.mu.Lock()
	open := c.open
	c.open = map[jsonrpc.ID]*exchange{}
	c.mu.Unlock()
	for _, x := range open {
		x.end()
	}
	return c.Connection.Close()
}

// answered ends the exchange of a request.
func (c *connection) answered(id jsonrpc.ID) {
	c.mu.Lock()
	x := c.open[id]
	delete(c.open, id)
	c.mu.Unlock()
	if x != nil {
		x.end()
	}
}
