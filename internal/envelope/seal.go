// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"context"
	"fmt"
	"io"
)

// Seal encrypts a secret of that name for the user, under the current key.
// Errors are ErrBinding, ErrTooLong above MaxPlaintext bytes, ErrUnavailable,
// and random's own. It reads 44 bytes of random, the data key and its nonce;
// the provider then reads what it needs, a Keyring 12. They must be the
// system's.
//
// A data key seals once, so its nonce could be fixed. It is random all the
// same, so that a later format that keeps a data key is not unsafe by it.
func Seal(ctx context.Context, random io.Reader, u *User, secret string, plaintext []byte) ([]byte, error) {
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
	if err := u.wrap(ctx, random, secret, dataKey, &p); err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	aead, err := newGCM(dataKey)
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	p.data = aead.Seal(nil, nonce, plaintext, u.wrapping(p.key.Algorithm, secret).dataAAD())
	return p.encode(), nil
}

// Open decrypts what Seal made for this user and name. Any other input is an
// error of this package, and returns no bytes. ErrUnavailable says nothing of
// the envelope: it may open later.
func Open(ctx context.Context, u *User, secret string, envelope []byte) ([]byte, error) {
	p, dataKey, err := u.unwrap(ctx, secret, envelope)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, err)
	}
	defer clear(dataKey)
	plaintext, err := u.decrypt(p, secret, dataKey)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, err)
	}
	return plaintext, nil
}

func (u *User) decrypt(p parsed, secret string, dataKey []byte) ([]byte, error) {
	aead, err := newGCM(dataKey)
	if err != nil {
		return nil, err
	}
	plaintext, err := aead.Open(nil, p.dataNonce, p.data, u.wrapping(p.key.Algorithm, secret).dataAAD())
	if err != nil {
		return nil, ErrRefused
	}
	return plaintext, nil
}
