// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// InstallationPublisher is the publisher in the signatures of an installation
// over its own recipes. No publisher has this id.
const InstallationPublisher = "seed"

// Signer signs the recipes of an installation that have no signature of their
// author. A nil Signer signs nothing.
type Signer struct {
	key ed25519.PrivateKey
}

// ReadSigner reads a key: 32 bytes in base64.
func ReadSigner(text []byte) (*Signer, error) {
	seed, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("the key that signs recipes is not 32 bytes in base64")
	}
	return &Signer{key: ed25519.NewKeyFromSeed(seed)}, nil
}

// PublicKey returns the key that verifies the signatures, as ParseKey reads it.
func (s *Signer) PublicKey() string {
	public, _ := s.key.Public().(ed25519.PublicKey)
	return FormatKey(public)
}

// Sign returns a recipe file of version 2 with the installation's signature. at
// is when the recipe was accepted: the signature of one version is always the
// same.
func (s *Signer) Sign(file []byte, at time.Time) ([]byte, error) {
	doc, err := jsondoc.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("the recipe %w", err)
	}
	if doc, err = Sign(doc, s.key, InstallationPublisher, at); err != nil {
		return nil, err
	}
	return doc.MarshalJSON()
}
