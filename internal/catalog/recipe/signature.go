// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// algorithm is the only supported algorithm.
const algorithm = "ed25519"

// SignedFields are the members that a new signature covers: all that decide
// what runs, its name, and what a model is told about it.
var SignedFields = []string{"id", "name", "description", "transports", "auth", "install", "metadata", "skill", "localOnly"}

var (
	// ErrUnsigned means that a recipe has no signature.
	ErrUnsigned = errors.New("the recipe is not signed")
	// ErrSignature means that the signature is not one of this key over this
	// recipe.
	ErrSignature = errors.New("the recipe's signature does not match: it was changed, or another key signed it")
)

// Verify checks the signature of a recipe as it was downloaded. A signature
// must cover all of SignedFields that the recipe has: anyone may have added
// what it leaves out.
func Verify(doc jsondoc.Value, key ed25519.PublicKey) error {
	s, err := signatureOf(doc)
	if err != nil {
		return err
	}
	if s.Algorithm != algorithm {
		return fmt.Errorf("signature.algorithm %.40q is not %s", s.Algorithm, algorithm)
	}
	for _, field := range SignedFields {
		if _, there := doc.Get(field); there && !slices.Contains(s.SignedFields, field) {
			return fmt.Errorf("the signature does not cover %s", field)
		}
	}
	value, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil || len(value) != ed25519.SignatureSize {
		return errors.New("signature.value is not a signature in base64")
	}
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, Canonical(doc, s.SignedFields), value) {
		return ErrSignature
	}
	return nil
}

func signatureOf(doc jsondoc.Value) (Signature, error) {
	member, there := doc.Get("signature")
	if !there || member.Kind == jsondoc.Null {
		return Signature{}, ErrUnsigned
	}
	var s Signature
	for _, p := range jsondoc.Decode(member, &s) {
		if !p.Unknown {
			return Signature{}, fmt.Errorf("signature.%s", p)
		}
	}
	return s, nil
}

// Sign returns the recipe with a signature over all of SignedFields that it
// has. It replaces an earlier signature.
func Sign(doc jsondoc.Value, key ed25519.PrivateKey, publisherID string, at time.Time) (jsondoc.Value, error) {
	var fields []string
	for _, field := range SignedFields {
		if _, there := doc.Get(field); there {
			fields = append(fields, field)
		}
	}
	signature, err := jsondoc.Encode(Signature{
		Algorithm:    algorithm,
		PublisherID:  publisherID,
		Value:        base64.StdEncoding.EncodeToString(ed25519.Sign(key, Canonical(doc, fields))),
		SignedFields: fields,
		SignedAt:     at.UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	if err != nil {
		return jsondoc.Value{}, fmt.Errorf("encode the signature: %w", err)
	}
	return doc.With("signature", signature), nil
}

// SignedAt returns when the signature was made.
func SignedAt(s Signature) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s.SignedAt)
	if err != nil {
		return time.Time{}, errors.New("signature.signedAt is not a time such as 2026-01-02T15:04:05Z")
	}
	return t, nil
}

// ParseKey reads a public key: PEM, or the key's 32 bytes in base64.
func ParseKey(text string) (ed25519.PublicKey, error) {
	text = strings.TrimSpace(text)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the public key: %w", err)
		}
		key, ok := parsed.(ed25519.PublicKey)
		if !ok {
			return nil, errors.New("the public key is not an Ed25519 key")
		}
		return key, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("a public key is a PEM block or 32 bytes in base64")
	}
	return key, nil
}

// FormatKey returns a key as ParseKey reads it, in one line.
func FormatKey(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }
