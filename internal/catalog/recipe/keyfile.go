// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"
)

// keyBlock is the type of a private key in PEM, as openssl genpkey writes it too.
const keyBlock = "PRIVATE KEY"

// MakeKey makes a publisher's private key from random, which must be the
// system's. The key is PEM of PKCS 8.
func MakeKey(random io.Reader) ([]byte, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: b}), nil
}

// ReadPrivateKey reads a key of MakeKey. Its errors repeat nothing of the text.
func ReadPrivateKey(text []byte) (*Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyBlock {
		return nil, errors.New("the file has no private key in PEM (BEGIN PRIVATE KEY): make one by bridge keys create")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("the private key must be an Ed25519 key: make one by bridge keys create")
	}
	return &Signer{key: key}, nil
}

// SignAs returns a recipe file of version 2 with the signature of a publisher, and
// the warnings of the recipe. It signs no recipe that breaks the format: the
// catalog would refuse it.
func (s *Signer) SignAs(publisher string, file []byte, at time.Time) ([]byte, []string, error) {
	if publisher == "" || publisher == InstallationPublisher {
		return nil, nil, fmt.Errorf("the publisher must be the id that the administrator registered, and not %q", publisher)
	}
	d, err := Parse(file)
	if err != nil {
		return nil, nil, err
	}
	if d.Format != V2 {
		return nil, nil, fmt.Errorf("the file is a %s: a signature is only for recipes of version 2, with \"schemaVersion\": 2", d.Format)
	}
	signed, err := Sign(d.Source, s.key, publisher, at)
	if err != nil {
		return nil, nil, err
	}
	public, _ := s.key.Public().(ed25519.PublicKey)
	if err := Verify(signed, public); err != nil {
		return nil, nil, fmt.Errorf("check the new signature: %w", err)
	}
	return signed.Indented(), d.Warnings, nil
}
