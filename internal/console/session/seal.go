// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/base64"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// Seal returns a text that each replica opens in this session and in no other one, for a
// browser to keep while a form leads to the page that shows it: no replica keeps it, and no
// URL has it. The key follows from the secret of the session's forms, which stays the same
// while the session goes on, and which the browser has only in the session's own cookie and in
// its pages.
func (s *Session) Seal(value []byte) (string, error) {
	key, err := s.sealKey()
	if err != nil {
		return "", err
	}
	e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.DIRECT, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("encrypt for the next page: %w", err)
	}
	sealed, err := e.Encrypt(value)
	if err != nil {
		return "", fmt.Errorf("encrypt for the next page: %w", err)
	}
	return sealed.CompactSerialize()
}

// Unseal returns what Seal sealed in this session, or ErrNone.
func (s *Session) Unseal(text string) ([]byte, error) {
	sealed, err := jose.ParseEncryptedCompact(text, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return nil, ErrNone
	}
	key, err := s.sealKey()
	if err != nil {
		return nil, err
	}
	value, err := sealed.Decrypt(key)
	if err != nil {
		return nil, ErrNone
	}
	return value, nil
}

// sealKey returns the key of Seal, which says nothing of the secret that it is made from.
func (s *Session) sealKey() ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(flow.Hash("hosted-bridge console: the next page\x00" + s.CSRF))
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return key, nil
}
