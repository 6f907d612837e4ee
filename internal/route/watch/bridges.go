// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// ErrUnknown says that the API server has not sent all objects yet.
var ErrUnknown = errors.New("the bridges are not known yet")

// Bridges returns all bridges as the API server last showed them, with what the
// watcher keeps of one. The caller must not change them. Before the API server
// has told of all the error is ErrUnknown, also where the table was restored.
func (w *Watcher) Bridges(ctx context.Context) ([]*v1alpha1.HostedBridge, error) {
	w.mu.Lock()
	followed := w.followed
	w.mu.Unlock()
	if !followed {
		return nil, ErrUnknown
	}
	var list v1alpha1.HostedBridgeList
	if err := w.cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the bridges: %w", err)
	}
	bridges := make([]*v1alpha1.HostedBridge, len(list.Items))
	for i := range list.Items {
		bridges[i] = &list.Items[i]
	}
	return bridges, nil
}
