// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
)

// reader returns what callers are identified by: the API server reviews tokens. That right
// can be granted for the whole cluster alone, so with watched namespaces the API server's
// public keys verify tokens.
func (o *Options) reader(cluster *keybroker.Cluster) keybroker.Reader {
	if len(o.WatchNamespaces) > 0 {
		return &verifying{cluster, keybroker.NewTokenVerifier(cluster, time.Now)}
	}
	return cluster
}

// verifying is the API server without its word about tokens.
type verifying struct {
	*keybroker.Cluster

	tokens *keybroker.TokenVerifier
}

// Review implements keybroker.Reader.
func (v *verifying) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	return v.tokens.Review(ctx, token, audience)
}
