// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// encode returns what the store has of a grant with this id.
func encode(id string, g Grant) ([]byte, error) {
	g.Upstream = ""
	if token := g.Who.RefreshToken; token != "" {
		sealer, err := sealerOf(id)
		if err != nil {
			return nil, fmt.Errorf("encrypt the provider's refresh token: %w", err)
		}
		sealed := sealer.Seal(nil, nil, []byte(token), nil) //nolint:gosec // The sealer adds a random nonce itself.
		g.Who.RefreshToken, g.Upstream = "", base64.RawURLEncoding.EncodeToString(sealed)
	}
	return jsondoc.EncodeExact(g), nil
}

// decode returns the grant of this id that the store has.
func decode(id string, value []byte) (g Grant, err error) {
	if err := json.Unmarshal(value, &g); err != nil || g.Upstream == "" {
		return g, err
	}
	sealer, err := sealerOf(id)
	if err != nil {
		return Grant{}, fmt.Errorf("decrypt the provider's refresh token: %w", err)
	}
	sealed, err := base64.RawURLEncoding.DecodeString(g.Upstream)
	if err != nil {
		return Grant{}, fmt.Errorf("decrypt the provider's refresh token: %w", err)
	}
	token, err := sealer.Open(nil, nil, sealed, nil)
	if err != nil {
		return Grant{}, fmt.Errorf("decrypt the provider's refresh token: %w", err)
	}
	g.Who.RefreshToken = string(token)
	return g, nil
}

// sealerOf returns what encrypts with a key of the id, which has 256 random bits.
func sealerOf(id string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(id), nil, "hb/v1/upstream-refresh-token", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
