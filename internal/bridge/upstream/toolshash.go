// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// ToolsCheck compares the tools of a server with the audited tools.
type ToolsCheck struct {
	conn *Conn

	// verified is the value of Lists.changes for which the tools were compared on this connection,
	// 0 if they were not. vetting is held during the comparison.
	verified  atomic.Uint64
	verifying sync.Mutex
}

// A server with a configured hash of its audited tools is out of service while its tools differ.
// No tool is called on a connection before its tools were compared, and again after each
// notification of changed tools on any connection. Clients get the list that was compared, because
// another list could name other tools.

// Audited reports whether the server may only have the audited tools.
func (u *Server) Audited() bool { return u.Config.ToolsHash != "" }

// Verify compares the tools on this connection, unless they were compared since the last
// notification of a change.
func (t *ToolsCheck) Verify(ctx context.Context) error {
	u := t.conn.Upstream
	if !u.Audited() || t.verified.Load() == u.Lists.changes.Load() {
		return nil
	}
	t.verifying.Lock()
	defer t.verifying.Unlock()
	state := u.Lists.changes.Load()
	if t.verified.Load() == state {
		return nil
	}
	ctx, end := egress.FollowContext(t.conn.grant.Grace, ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, u.Timing.Timeout)
	defer cancel()
	if t.conn == u.Peek() {
		if err := u.Lists.list(ctx, t.conn); err != nil {
			return err
		}
		return u.Availability.ToolsMismatch()
	}
	return t.compareOwn(ctx, state)
}

// compareOwn compares the tools on a client's own connection. A difference there does not prove
// one on other connections, so it makes the bridge check them.
func (t *ToolsCheck) compareOwn(ctx context.Context, state uint64) error {
	u := t.conn.Upstream
	var tools []Item
	if t.conn.Capabilities().Tools != nil {
		listed, _, err := listAll(ctx, t.conn, methods.ListTools)
		if err != nil {
			if fault.ConnectionLost(err) {
				t.conn.Life.Retire()
			}
			return fmt.Errorf("%s: %w", methods.ListTools, err)
		}
		tools = listed
	}
	if drifted := u.Lists.compareTools(tools); drifted != "" {
		u.ReadListsSoon()
		return &fault.Unavailable{Server: u.Config.Name, Reason: drifted}
	}
	t.verified.Store(state)
	return nil
}

// MayCall returns an error if the request must not be sent on the connection. Tools that the
// server does not list were not audited.
func (t *ToolsCheck) MayCall(ctx context.Context, q *message.Request) error {
	if err := t.Verify(ctx); err != nil {
		return err
	}
	if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok && t.conn.Upstream.Audited() && !t.conn.Upstream.Lists.has(p.Name) {
		return fault.InvalidParams("unknown %s", message.Subject(q))
	}
	return nil
}

// noteChange makes all connections compare the tools again after the server's notification of
// changed tools.
func (t *ToolsCheck) noteChange(method string) {
	if method == methods.ToolsChanged {
		t.conn.Upstream.Lists.changes.Add(1)
	}
}
