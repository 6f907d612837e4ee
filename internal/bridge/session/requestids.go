// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// prefixedTransport gives the requests of a session to its client ids that no other process uses
// for this session. The SDK numbers the requests of each connection from one. Without the prefix,
// the answer to a question of an earlier process would be taken as the answer to another question
// of this process: a user may answer a dialog minutes later.
type prefixedTransport struct {
	*mcp.StreamableServerTransport
	mark string
}

// Connect implements mcp.Transport.
func (a *prefixedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := a.StreamableServerTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newClientConn(&prefixedConn{Connection: c, mark: a.mark + "-"}), nil
}

// prefixedConn is the connection of a prefixedTransport.
type prefixedConn struct {
	mcp.Connection
	mark string // the prefix of the SDK's number
}

// Read implements mcp.Connection. It drops answers to questions of an earlier process.
func (c *prefixedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
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

// number returns the SDK's id of a request, and false for a request of an earlier process.
func (c *prefixedConn) number(id jsonrpc.ID) (jsonrpc.ID, bool) {
	shown, _ := id.Raw().(string)
	digits, ok := strings.CutPrefix(shown, c.mark)
	if !ok {
		return jsonrpc.ID{}, false
	}
	n, err := strconv.ParseUint(digits, 10, 32) // A session sends fewer requests than that.
	if err != nil {
		return jsonrpc.ID{}, false
	}
	own, err := jsonrpc.MakeID(float64(n))
	return own, err == nil
}

// withdrawnAnswer stands in the stream for the answer to a cancelled request, so that the SDK ends the
// stream. It is not sent. Nobody can guess it, so no other event contains it.
var withdrawnAnswer = "withdrawn-" + rand.Text()

// withdraw implements withdrawer.
func (c *prefixedConn) withdraw(ctx context.Context, m *jsonrpc.Response) error {
	return c.Connection.Write(ctx, &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: withdrawnAnswer}})
}

// Write implements mcp.Connection.
func (c *prefixedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		return c.Connection.Write(ctx, m)
	}
	shown := *request
	switch {
	case request.IsCall():
		id, err := jsonrpc.MakeID(fmt.Sprint(c.mark, request.ID.Raw()))
		if err != nil {
			return err
		}
		shown.ID = id
	case request.Method == methods.Cancelled:
		var p struct {
			ID json.Number `json:"requestId"`
		}
		if err := json.Unmarshal(request.Params, &p); err != nil {
			return err
		}
		params, err := message.WithField(request.Params, "requestId", c.mark+p.ID.String())
		if err != nil {
			return err
		}
		shown.Params = params
	}
	return c.Connection.Write(ctx, &shown)
}
