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

// Ref is how reports name a HostedBridge.
type Ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r Ref) String() string { return r.Namespace + "/" + r.Name }

func (r Ref) compare(other Ref) int { return strings.Compare(r.String(), other.String()) }

func refOf(b store.Bridge) Ref { return Ref{b.Namespace, b.Name} }

// SecretRef is how reports name a user's secret.
type SecretRef struct {
	Ref

	Secret string `json:"secret"`
}

func (r SecretRef) String() string { return r.Ref.String() + "/" + r.Secret }

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
