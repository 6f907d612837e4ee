// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

const (
	// firstCompare is when they are compared first: by then the ingress has a certificate.
	firstCompare = time.Minute
	// compareEvery is how long programs cannot start whose bundles the store has lost.
	compareEvery = time.Minute
)

// BundleStore keeps the bundles of an installation.
type BundleStore interface {
	List(ctx context.Context) (bundle.Inventory, error)
	Keep(ctx context.Context, digests []bundle.Digest) (bundle.Removed, error)
}

// Bundles compares the ProgramBundles with what the store has. The store removes bundles that no
// ProgramBundle names any more, which it keeps for an hour after they were last used. A
// ProgramBundle whose bundle the store has lost, with its volume, is deleted, so that the operator
// has it made again. The store has no right at the API server, and the operator no certificate.
type Bundles struct {
	Client    client.Client
	Namespace string
	Store     BundleStore
	Log       *slog.Logger
}

// Run compares them until ctx ends.
func (b *Bundles) Run(ctx context.Context) error {
	timer := time.NewTimer(firstCompare)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			timer.Reset(compareEvery)
		}
		if err := b.compare(ctx); err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "bundles were not compared with what the store has", slog.Any("error", err))
		}
	}
}

func (b *Bundles) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A bundle is in the store before its ProgramBundle names it, so it is looked for afterwards.
	var list v1alpha1.ProgramBundleList
	if err := b.Client.List(ctx, &list, client.InNamespace(b.Namespace)); err != nil {
		return fmt.Errorf("list ProgramBundles: %w", err)
	}
	inventory, err := b.Store.List(ctx)
	if err != nil {
		return fmt.Errorf("list what the store has: %w", err)
	}
	needed, lost := []bundle.Digest{}, []error(nil)
	for i := range list.Items {
		digest, err := bundle.ParseDigest(list.Items[i].Status.Digest)
		if err != nil {
			continue // It is being installed.
		}
		needed = append(needed, digest)
		if !slices.ContainsFunc(inventory.Bundles, func(s bundle.Kept) bool { return s.Digest == digest }) {
			b.Log.WarnContext(ctx, "the store has lost a bundle: it is made again", slog.String("programBundle", list.Items[i].Name))
			lost = append(lost, apply.DeleteAsRead(ctx, b.Client, &list.Items[i])) // The operator creates it again.
		}
	}
	removed, err := b.Store.Keep(ctx, needed)
	if err != nil {
		return fmt.Errorf("tell the store which bundles are needed: %w", err)
	}
	if removed.Bundles > 0 {
		b.Log.InfoContext(ctx, "removed bundles that nobody needs", slog.Any("removed", removed))
	}
	return errors.Join(lost...)
}
