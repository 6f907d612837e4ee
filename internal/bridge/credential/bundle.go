// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// FetchBundle returns when the pod has the files of a program. Its errors are for users, and
// complete a sentence that starts with the program.
type FetchBundle func(ctx context.Context, b bridgeconfig.Bundle) error

// AfterFetch returns a runner that starts a program once the pod has its files.
func (r Runner) AfterFetch(fetch FetchBundle) Runner {
	return func(p *bridgeconfig.Program, l stdio.Launch, log *slog.Logger) client.Dialer {
		next := r(p, l, log)
		if p.Bundle == nil {
			return next
		}
		return func(ctx context.Context) (client.Stream, error) {
			if err := fetch(ctx, *p.Bundle); err != nil {
				return nil, &stdio.ProgramError{Program: l.Server, Reason: "cannot be started: " + err.Error()}
			}
			return next(ctx)
		}
	}
}
