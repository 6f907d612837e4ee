// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundleclient calls the part of the store that keeps bundles.
//
// The package is a shell. The bridge links it, so it imports nothing of Kubernetes.
package bundleclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// Client calls the store. It is safe for concurrent use.
type Client struct{}

// New returns a client of the store at base, such as
// https://hosted-bridge-store.hosted-bridge-system.svc:8444. credentials returns the
// configuration of each new connection, nil while there is no certificate; it is
// Source.ClientTLS(pki.StoreURI()) of the keybroker's client, by which the peer has
// to be the store.
func New(base string, credentials func() *tls.Config) (*Client, error) {
	return nil, errors.ErrUnsupported
}

// Fetch returns the bytes of a bundle, compressed, for bundle.Unpack. The caller
// closes them.
func (c *Client) Fetch(ctx context.Context, digest bundle.Digest) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}
