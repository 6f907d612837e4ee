// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programio exchanges MCP messages with programs over their stdin and stdout.
package programio

import (
	"context"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// MaxMessage limits one message of a program, in bytes: as over HTTP.
const MaxMessage = 16 << 20

// Dialer returns the way to the program l that s starts. Each connection starts the program again, and its
// end ends it.
func Dialer(s stdio.Starter, l stdio.Launch, log *slog.Logger) client.Dialer {
	d := &dialect{log: log, hide: l.Redactor(), grace: stdio.EndGrace}
	return d.dialer(s)
}

// dialer returns the way to programs that s starts. They share what is known of how the program writes.
func (d *dialect) dialer(s stdio.Starter) client.Dialer {
	return func(ctx context.Context) (client.Stream, error) {
		p, err := s.Start(ctx)
		if err != nil {
			return nil, err
		}
		return newConnection(ctx, p, d), nil
	}
}
