// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// imageInfo is the label of the key that signs images, without the number of the attempt.
const imageInfo = "hb/v1/image"

// SignImage returns the signature of a payload, in ASN.1, by the installation's key for images. It is of
// P-256 over the payload's SHA-256, which is what cosign verifies.
func (a *Authority) SignImage(payload []byte) ([]byte, error) {
	key, err := a.ecdsaKey(imageInfo)
	if err != nil {
		return nil, fmt.Errorf("derive image key: %w", err)
	}
	digest := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return nil, errors.New("sign the image")
	}
	return signature, nil
}

// ImageKeyPEM returns the public key by which images are verified, in PEM. It is the same as long as
// the authority is.
func (a *Authority) ImageKeyPEM() ([]byte, error) {
	key, err := a.ecdsaKey(imageInfo)
	if err != nil {
		return nil, fmt.Errorf("derive image key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, errors.New("encode the image key")
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}
