// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// maxConcurrent is how many HostedBridges are read at a time: enough that the
// delays of calls to the API server do not add up, and few compared with what a
// replica may do for its pods.
const maxConcurrent = 8

// BridgeLister lists the HostedBridges of a namespace; an empty one means all
// namespaces. It reads them in pages.
type BridgeLister interface {
	Bridges(ctx context.Context, namespace string) ([]Bridge, error)
}

// SecretLister lists the sealed secrets of a HostedBridge.
type SecretLister interface {
	List(ctx context.Context, b Bridge) (Listing, error)
}

// ForEach calls do for each of n items, some at a time, until one call fails.
func ForEach(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
