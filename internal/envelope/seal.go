// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
)

// Seal encrypts a secret of that name for the user, under the ring's newest
// key. It reads 56 bytes of randomness: the data key and the two nonces. The
// nonces are random and safe to be: a data key seals once, and a user's key is
// used far less often than the 2^32 times that GCM allows.
func Seal(random io.Reader, u *UserRing, secret string, plaintext []byte) ([]byte, error) {
	if len(plaintext) > MaxPlaintext {
		return nil, fmt.Errorf("seal %q: %w: %d bytes, at most %d", secret, ErrTooLong, len(plaintext), MaxPlaintext)
	}
	dataKey := make([]byte, KeySize)
	defer clear(dataKey)
	dataNonce := make([]byte, nonceSize)
	for _, b := range [][]byte{dataKey, dataNonce} {
		if _, err := io.ReadFull(random, b); err != nil {
			return nil, fmt.Errorf("seal %q: read randomness: %w", secret, err)
		}
	}
	out, err := u.wrap(random, secret, dataKey, len(plaintext))
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	aead, err := newGCM(dataKey)
	if err != nil {
		return nil, fmt.Errorf("seal %q: %w", secret, err)
	}
	out = append(out, dataNonce...)
	return aead.Seal(out, dataNonce, plaintext, u.dataAAD(secret)), nil
}

// Open decrypts what Seal made for this user and name. Any other input is an
// error, and gives no byte of anything.
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
	plaintext, err := aead.Open(nil, p.dataNonce, p.sealed, u.dataAAD(secret))
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", secret, ErrRefused)
	}
	return plaintext, nil
}

// Rewrap returns the envelope under the ring's newest key, and whether it was
// under another before. The secret itself is not decrypted, and its bytes in
// the envelope stay the same.
func Rewrap(random io.Reader, u *UserRing, secret string, envelope []byte) (out []byte, changed bool, err error) {
	p, dataKey, err := u.unwrap(secret, envelope)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	defer clear(dataKey)
	if p.version == u.ring.current {
		return envelope, false, nil
	}
	out, err = u.wrap(random, secret, dataKey, len(p.sealed)-tagSize)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	return append(append(out, p.dataNonce...), p.sealed...), true, nil
}

// wrap begins an envelope: everything before the encrypted secret.
func (u *UserRing) wrap(random io.Reader, secret string, dataKey []byte, plaintextSize int) ([]byte, error) {
	key, err := u.key(u.ring.current)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	aead, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	out := append(header(u.ring.current, Overhead+plaintextSize), nonce...)
	return aead.Seal(out, nonce, dataKey, u.wrapAAD(secret, u.ring.current)), nil
}

// unwrap returns the envelope's parts and its data key.
func (u *UserRing) unwrap(secret string, envelope []byte) (parsed, []byte, error) {
	p, err := parse(envelope)
	if err != nil {
		return parsed{}, nil, err
	}
	key, err := u.key(p.version)
	if err != nil {
		return parsed{}, nil, err
	}
	defer clear(key)
	aead, err := newGCM(key)
	if err != nil {
		return parsed{}, nil, err
	}
	dataKey, err := aead.Open(nil, p.wrapNonce, p.wrapped, u.wrapAAD(secret, p.version))
	if err != nil {
		return parsed{}, nil, ErrRefused
	}
	return p, dataKey, nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use the key: %w", err)
	}
	return cipher.NewGCM(block)
}
