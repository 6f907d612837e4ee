// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"io"
)

// NewRequest makes a key and a PKCS #10 request that proves its possession.
// The key is Ed25519: small, quick to make, and the one kind that Issue takes.
func NewRequest(rand io.Reader) (key crypto.Signer, csrDER []byte, err error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(rand, seed); err != nil {
		return nil, nil, fmt.Errorf("make key: %w", err)
	}
	private := ed25519.NewKeyFromSeed(seed)
	csrDER, err = x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, private)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate request: %w", err)
	}
	return private, csrDER, nil
}

// requestedKey returns the public key of a request whose sender has the
// private one. Without that proof somebody could be certified for the key of
// another and claim what the other signed.
func requestedKey(csrDER []byte) (ed25519.PublicKey, error) {
	request, err := x509.ParseCertificateRequest(csrDER)
	if err != nil {
		return nil, fmt.Errorf("%w: not PKCS #10", ErrRequest)
	}
	public, ok := request.PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: the key is not Ed25519", ErrRequest)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: the signature is not by the key", ErrRequest)
	}
	return public, nil
}
