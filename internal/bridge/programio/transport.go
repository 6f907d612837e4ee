// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programio exchanges MCP messages with programs over their stdin and stdout.
package programio

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
)

// MaxMessage limits one message of a program, in bytes: the limit of the MCP SDK's own transports.
const MaxMessage = 16 << 20

// Transport returns the transport to the program l that s starts. Each Connect starts the program
// again, and Close ends it.
func Transport(s stdio.Starter, l stdio.Launch, log *slog.Logger) mcp.Transport {
	return &transport{starter: s, dialect: &dialect{log: log, hide: l.Redactor(), grace: stdio.EndGrace}}
}

type transport struct {
	starter stdio.Starter
	dialect *dialect
}

// Connect implements mcp.Transport. ctx limits the attempt, not the connection.
func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	p, err := t.starter.Start(ctx)
	if err != nil {
		return nil, err
	}
	return newConnection(ctx, p, t.dialect), nil
}
