// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
)

// ErrBox says that a box is not of this key and these words, or was changed.
var ErrBox = errors.New("the box is not of this installation's key, or of something else")

// Box encrypts what another process keeps for the ingresses of an installation. That process can
// neither read it nor change it, nor give it for something else.
type Box struct{ aead cipher.AEAD }

// Box returns the box of a purpose, such as "answers". Its key is derived, so that what is signed
// by k says nothing of it.
func (k Key) Box(purpose string) (*Box, error) {
	mac := hmac.New(sha256.New, k[:])
	_, _ = io.WriteString(mac, "hosted-bridge-box 1 "+purpose)
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Box{aead}, err
}

// Seal returns content in a box that opens only with the same words.
func (b *Box) Seal(content []byte, words string) []byte {
	return b.aead.Seal(nil, nil, content, []byte(words)) //nolint:gosec // This mode makes a random nonce of its own.
}

// Open returns what Seal was given.
func (b *Box) Open(box []byte, words string) ([]byte, error) {
	content, err := b.aead.Open(nil, nil, box, []byte(words))
	if err != nil {
		return nil, ErrBox
	}
	return content, nil
}
