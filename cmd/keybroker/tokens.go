// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/serviceaccount"
)

// The values of --token-verification.
const (
	byReview = "review"
	byKeys   = "jwks"
)

// reader returns what callers are identified by.
func (o *Options) reader(cluster *keybroker.Cluster) keybroker.Reader {
	if o.TokenVerification == byKeys {
		return &verifying{cluster, serviceaccount.New(cluster, time.Now)}
	}
	return cluster
}

// verifying is the API server without its word about tokens.
type verifying struct {
	*keybroker.Cluster

	tokens *serviceaccount.Verifier
}

// Review implements keybroker.Reader.
func (v *verifying) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	return v.tokens.Review(ctx, token, audience)
}
