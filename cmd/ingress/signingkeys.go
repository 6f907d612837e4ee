// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// signingKeys are those of access tokens at the keybroker, as soon as it is known.
type signingKeys struct {
	known atomic.Pointer[client.Login]
}

// Sign implements flow.Signer.
func (k *signingKeys) Sign(ctx context.Context, claims []byte) (string, error) {
	known := k.known.Load()
	if known == nil {
		return "", errNoKeybroker
	}
	return known.Sign(ctx, claims)
}

// Keys implements flow.KeySet.
func (k *signingKeys) Keys(ctx context.Context) (jose.JSONWebKeySet, error) {
	known := k.known.Load()
	if known == nil {
		return jose.JSONWebKeySet{}, errNoKeybroker
	}
	return known.Keys(ctx)
}
