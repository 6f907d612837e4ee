// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// keepEvery is how often the store is told which bundles are needed. It keeps a bundle for an
// hour after it was last used in any case, so that one is not removed before its ProgramBundle
// names it.
const (
	keepEvery = time.Hour
	// firstKeep is when it is told first: by then the ingress has a certificate.
	firstKeep = time.Minute
)

// BundleStore keeps the bundles of an installation.
type BundleStore interface {
	Keep(ctx context.Context, digests []bundle.Digest) (bundle.Removed, error)
}

// Bundles has the store remove bundles that no ProgramBundle names any more. The store has no
// right at the API server, and the operator no certificate.
type Bundles struct {
	Client    client.Reader
	Namespace string
	Store     BundleStore
	Log       *slog.Logger
}

// Run tells the store what is needed until ctx ends.
func (b *Bundles) Run(ctx context.Context) error {
	timer := time.NewTimer(firstKeep)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			timer.Reset(keepEvery)
		}
		if err := b.keep(ctx); err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "bundles that nobody needs were not removed", slog.Any("error", err))
		}
	}
}

func (b *Bundles) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var list v1alpha1.ProgramBundleList
	if err := b.Client.List(ctx, &list, client.InNamespace(b.Namespace)); err != nil {
		return fmt.Errorf("list ProgramBundles: %w", err)
	}
	needed := []bundle.Digest{}
	for _, o := range list.Items {
		if digest, err := bundle.ParseDigest(o.Status.Digest); err == nil {
			needed = append(needed, digest)
		}
	}
	removed, err := b.Store.Keep(ctx, needed)
	if err != nil {
		return fmt.Errorf("tell the store which bundles are needed: %w", err)
	}
	if removed.Bundles > 0 {
		b.Log.InfoContext(ctx, "removed bundles that nobody needs", slog.Any("removed", removed))
	}
	return nil
}
