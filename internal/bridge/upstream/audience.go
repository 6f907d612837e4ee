// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Join adds a session to the connection.
func (a *Audience) Join(s message.Client) {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	if a.members == nil {
		a.members = map[message.Client]*inflight.Queue{}
	}
	if a.members[s] == nil {
		a.members[s] = &inflight.Queue{}
	}
}

// Members returns the sessions of the connection, with the queue of each.
func (a *Audience) Members() map[message.Client]*inflight.Queue {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	return maps.Clone(a.members)
}

// Leave removes the session. A session's own connection is closed.
func (a *Audience) Leave(s message.Client) {
	if !a.conn.Shared {
		a.conn.Life.Retire() // The server must be told of calls that end with the session.
		return
	}
	a.conn.mu.Lock()
	delete(a.members, s)
	a.conn.mu.Unlock()
}

// SubscribeFor subscribes the session to a resource, or unsubscribes it.
func (a *Audience) SubscribeFor(ctx context.Context, s message.Client, uri string, on bool) error {
	ctx, cancel := egress.FollowContext(a.conn.GraceContext(), ctx)
	defer cancel()
	if !a.conn.Shared {
		return a.conn.Subscribe(ctx, uri, on)
	}
	u := a.conn.Upstream
	if !u.Subscriptions.Follow(s, uri, on) {
		return nil
	}
	if !on {
		return u.Unsubscribe(ctx, uri)
	}
	if err := u.Subscribe(ctx, uri); err != nil {
		u.Subscriptions.Follow(s, uri, false)
		return err
	}
	return nil
}

// SetLevel sets the client's log level at the server. params are those of the client's request.
func (a *Audience) SetLevel(ctx context.Context, level string, params mcp.Params) error {
	if a.conn.Shared {
		a.RaiseLogLevel(ctx, level)
		return nil
	}
	_, err := a.conn.Call(ctx, methods.SetLevel, params, nil)
	return err
}

// About returns the metadata that describes the session's client to a modern server.
func (a *Audience) About(s message.Client) map[string]any {
	if !a.conn.Shared || s == nil {
		return a.conn.session.Introduction()
	}
	meta := a.conn.session.Introduction()
	if info := s.Info(); info != nil {
		meta[message.MetaClientInfo] = info
	}
	meta[message.MetaClientCaps] = message.EncodeCapabilities(s.Capabilities())
	return meta
}

// NoLevelSet reports whether no client set a log level, so that the server uses its default.
func (a *Audience) NoLevelSet() bool {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	return a.level == ""
}

// Audience holds the clients of a connection.
type Audience struct {
	conn *Conn

	members map[message.Client]*inflight.Queue // the sessions of a shared connection
	level   string                             // the log level set at a legacy server
}

// RaiseLogLevel requests log messages of at least level from a legacy server. A session at the
// server has one level, so the shared connection uses the most verbose level of its clients, and
// each call drops the messages that its own client does not want.
func (a *Audience) RaiseLogLevel(ctx context.Context, level string) {
	if a.conn.Capabilities().Logging == nil || !slices.Contains(message.LogLevels, level) {
		return
	}
	a.conn.mu.Lock()
	enough := a.level != "" && slices.Index(message.LogLevels, a.level) <= slices.Index(message.LogLevels, level)
	if !enough {
		a.level = level
	}
	a.conn.mu.Unlock()
	if !enough {
		_, _ = a.conn.Call(ctx, methods.SetLevel, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)}, nil)
	}
}
