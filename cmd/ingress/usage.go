// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	use "github.com/hostedbridge/hostedbridge/internal/usage"
)

// inventory returns what the installation has.
func (p *parts) inventory(ctx context.Context) (use.Inventory, error) {
	bridges, err := p.watcher.Bridges(ctx)
	if err != nil {
		return use.Inventory{}, err
	}
	return use.Inventory{Installed: use.Of(bridges)}, nil
}
