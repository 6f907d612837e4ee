// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// forward sends the request to u. A request that went to a connection which
// turned out to be dead is sent once more on a new one.
func (b *Bridge) forward(ctx context.Context, q *query, u *upstream) (mcp.Result, error) {
	result, again, err := b.deliver(ctx, q, u)
	if again && ctx.Err() == nil {
		result, _, err = b.deliver(ctx, q, u)
	}
	if err != nil {
		return nil, rpcError(err, u.server.Name)
	}
	return result, nil
}
