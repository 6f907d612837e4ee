// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// FetchBundle returns when the pod has the files of a program. Its errors are for users, and
// complete a sentence that starts with the program.
type FetchBundle func(ctx context.Context, b mcpserver.Bundle) error

// AfterFetch returns a runner that starts a program once the pod has its files.
func (r Runner) AfterFetch(fetch FetchBundle) Runner {
	return func(p *mcpserver.Program, l stdio.Launch, log *slog.Logger) mcp.Transport {
		next := r(p, l, log)
		if p.Bundle == nil {
			return next
		}
		return &fetchedTransport{next: next, program: l.Server, fetch: func(ctx context.Context) error { return fetch(ctx, *p.Bundle) }}
	}
}

// fetchedTransport fetches the files of a program before it starts the program.
type fetchedTransport struct {
	next    mcp.Transport
	program string
	fetch   func(ctx context.Context) error
}

// Connect implements mcp.Transport.
func (t *fetchedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := t.fetch(ctx); err != nil {
		return nil, &stdio.ProgramError{Program: t.program, Reason: "cannot be started: " + err.Error()}
	}
	return t.next.Connect(ctx) //nolint:wrapcheck // It is the transport's own error.
}
