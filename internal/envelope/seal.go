// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"fmt"
	"io"
)

// Seal encrypts a secret of that name for the user, under the ring's current
// key version. Errors are ErrBinding, ErrTooLong above MaxPlaintext bytes, and
// random's own. It reads 56 bytes of random, which must be the system's: the
// data key, its nonce, and the nonce of the wrap, in this order.
//
// A data key seals once, so its nonce could be fixed. It is random all the
// same, so that a later format that keeps a data key is not unsafe by it.
func Seal(random io.Reader, u *UserRing, secret string, plaintext []byte) ([]byte, error) {
	if !bindable(secret) {
		return nil, fmt.Errorf("seal: %w", ErrBinding)
	}
	if len(plaintext) > MaxPlaintext {
		return nil, fmt.Errorf("seal %q: %w: %d bytes, at most %d", secret, ErrTooLong, len(plaintext), MaxPlaintext)
	}
	drawn := make([]byte, KeySize+nonceSize)
	if _, err := io.ReadFull(random, drawn); err != nil {
		return nil, fmt.Errorf("seal %q: read randomness: %w", secret, err)
	}
	dataKey, nonce := drawn[:KeySize], drawn[KeySize:]
	defer clear(dataKey)
	p := parsed{dataNonce: nonce}
	if err := u.wrap(random, secret, dataKey, &p); err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	aead, err := newGCM(dataKey)
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	p.data = aead.Seal(nil, nonce, plaintext, u.dataAAD(secret))
	return p.encode(), nil
}

// Open decrypts what Seal made for this user and name. Any other input is an
// error, one of this package's, and gives no byte of anything.
func Open(u *UserRing, secret string, envelope []byte) ([]byte, error) {
	p, dataKey, err := u.unwrap(secret, envelope)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, err)
	}
	defer clear(dataKey)
	aead, err := newGCM(dataKey)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, err)
	}
	plaintext, err := aead.Open(nil, p.dataNonce, p.data, u.dataAAD(secret))
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, ErrRefused)
	}
	return plaintext, nil
}
