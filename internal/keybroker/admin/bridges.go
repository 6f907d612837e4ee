// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

// atOnce is how many HostedBridges are looked at at a time: enough that the
// time of a call to the API server does not add up, few beside what a replica
// may do for its pods.
const atOnce = 8

// Bridge is a HostedBridge as far as its secrets go.
type Bridge struct {
	store.Bridge

	UserID string
	// Deleting says that it is on its way out.
	Deleting bool
}

// ref is how reports name a HostedBridge.
type ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r ref) String() string { return r.Namespace + "/" + r.Name }

func (r ref) compare(other ref) int { return strings.Compare(r.String(), other.String()) }

func refOf(b store.Bridge) ref { return ref{b.Namespace, b.Name} }

// secretRef is how reports name a user's secret.
type secretRef struct {
	ref

	Secret string `json:"secret"`
}

func (r secretRef) String() string { return r.ref.String() + "/" + r.Secret }

// BridgeLister lists the HostedBridges of a namespace, of all where it is
// empty. It reads them in pages.
type BridgeLister interface {
	Bridges(ctx context.Context, namespace string) ([]store.Bridge, error)
}

// SecretLister lists what is sealed for a HostedBridge.
type SecretLister interface {
	List(ctx context.Context, b store.Bridge) (store.Listing, error)
}

// each calls do for every one of n, some at a time, until one fails.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
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
