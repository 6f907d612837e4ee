// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// clientConn is a connection to a client. It keeps requests and answers as the client sent them,
// which the SDK's types would change, and sends no answer to a request that the client cancelled.
type clientConn struct {
	mcp.Connection

	mu    sync.Mutex
	open  map[jsonrpc.ID]*message.Sent  // the client's requests
	asked map[jsonrpc.ID]*message.Reply // the questions to the client
	// batches says that the client's version of the protocol has batches, and the transport answers
	// a batch as a whole.
	batches bool
}

func newClientConn(c mcp.Connection) *clientConn {
	return &clientConn{Connection: c, open: map[jsonrpc.ID]*message.Sent{}, asked: map[jsonrpc.ID]*message.Reply{}}
}

// withdrawer is a connection that must know of a cancelled request that its answer is not sent.
type withdrawer interface {
	withdraw(ctx context.Context, m *jsonrpc.Response) error
}

// Read implements mcp.Connection. It answers requests whose ids are refused.
func (c *clientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	for request, ok := m.(*jsonrpc.Request); ok && message.HidesFraction(request.ID.Raw()); request, ok = m.(*jsonrpc.Request) {
		if err := c.Connection.Write(ctx, &jsonrpc.Response{ID: request.ID, Error: message.ErrFractionalID}); err != nil {
			return nil, err
		}
		m, err = c.Connection.Read(ctx)
	}
	switch m := m.(type) {
	case *jsonrpc.Request:
		c.received(m)
	case *jsonrpc.Response:
		c.mu.Lock()
		reply := c.asked[m.ID]
		delete(c.asked, m.ID)
		c.mu.Unlock()
		if reply != nil && m.Error == nil {
			reply.Set(m.Result)
		}
	}
	return m, err
}

// received keeps a request as it was sent.
func (c *clientConn) received(m *jsonrpc.Request) {
	extra, _ := m.Extra.(*mcp.RequestExtra)
	sent := &message.Sent{Params: m.Params}
	m.Extra, m.Params = message.WithSent(extra, sent), message.ForSDK(m.Method, m.Params)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Method == methods.Initialize:
		// A client must not cancel it.
		c.batches = versionOf(m.Params) == message.BatchVersion
	case m.Method == methods.Cancelled:
		if withdrawn := c.open[withdrawnID(m.Params)]; withdrawn != nil {
			withdrawn.Withdrawn.Set(m.Params)
		}
	case m.IsCall() && c.open[m.ID] == nil: // The SDK refuses a second request with the same id.
		c.open[m.ID] = sent
	}
}

// withdrawnID returns the id of the request that a notification cancels.
func withdrawnID(params json.RawMessage) jsonrpc.ID {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(p.ID)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

// versionOf returns the protocol version in the parameters of a first request.
func versionOf(params json.RawMessage) string {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // The SDK refuses other parameters.
	return p.Version
}

// Write implements mcp.Connection.
func (c *clientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Request:
		if reply := message.ReplyOf(ctx); reply != nil && m.IsCall() {
			c.await(m.ID, reply)
		}
		if w := message.WithdrawalOf(ctx); w != nil && m.Method == methods.Cancelled {
			merged := *m
			merged.Params = w.Merge(m.Params)
			return c.Connection.Write(ctx, &merged)
		}
	case *jsonrpc.Response:
		if c.answered(m.ID) {
			return c.withdraw(ctx, m)
		}
	}
	return c.Connection.Write(ctx, m)
}

// await has the answer to a question fill the reply.
func (c *clientConn) await(id jsonrpc.ID, reply *message.Reply) {
	c.mu.Lock()
	c.asked[id] = reply
	c.mu.Unlock()
	reply.OnEnd(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, id)
	})
}

// answered ends a request, and reports whether the client cancelled it.
func (c *clientConn) answered(id jsonrpc.ID) (withdrawn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.open[id]
	delete(c.open, id)
	if sent == nil {
		return false
	}
	_, withdrawn = sent.Withdrawn.Get()
	return withdrawn
}

// withdraw ends a cancelled request without an answer.
func (c *clientConn) withdraw(ctx context.Context, m *jsonrpc.Response) error {
	if inner, ok := c.Connection.(withdrawer); ok {
		return inner.withdraw(ctx, m)
	}
	c.mu.Lock()
	batches := c.batches
	c.mu.Unlock()
	if batches {
		return c.Connection.Write(ctx, m) // The answers to the rest of its batch would never be sent.
	}
	return nil
}
