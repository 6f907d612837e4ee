// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"fmt"
	"io"
)

// wrap encrypts a data key under the user's key of the ring's current version
// and sets it in the envelope. It reads 12 bytes of randomness, the nonce. GCM
// allows 2^32 random nonces for a key: one user's secrets would have to be
// written every second for 136 years.
func (u *UserRing) wrap(random io.Reader, secret string, dataKey []byte, p *parsed) error {
	aead, err := u.wrapper(u.ring.current)
	if err != nil {
		return err
	}
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	p.version = u.ring.current
	p.wrapNonce = nonce
	p.wrapped = aead.Seal(nil, nonce, dataKey, u.wrapAAD(secret, p.version))
	return nil
}

// unwrap returns the envelope's parts and its data key, which the caller
// clears.
func (u *UserRing) unwrap(secret string, envelope []byte) (parsed, []byte, error) {
	if !bindable(secret) {
		return parsed{}, nil, ErrBinding
	}
	p, err := parse(envelope)
	if err != nil {
		return parsed{}, nil, err
	}
	aead, err := u.wrapper(p.version)
	if err != nil {
		return parsed{}, nil, err
	}
	dataKey, err := aead.Open(nil, p.wrapNonce, p.wrapped, u.wrapAAD(secret, p.version))
	if err != nil {
		return parsed{}, nil, ErrRefused
	}
	return p, dataKey, nil
}
