// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// refusals are the defects of an envelope itself. A retry does not help.
var refusals = []error{
	ErrMalformed, ErrUnknownFormat, ErrUnknownAlgorithm, ErrUnknownKeyVersion, ErrRetiredKeyVersion, ErrRefused, ErrBinding,
}

func isRefusal(err error) bool {
	return slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) })
}

// unavailable marks a provider's error that says nothing of the envelope.
func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// wrap encrypts a data key under the current key and sets it in the envelope.
func (u *User) wrap(ctx context.Context, random io.Reader, secret string, dataKey []byte, p *parsed) error {
	id := u.keys.Current()
	if id.Version == 0 {
		return fmt.Errorf("%w: its key's version is not known yet", ErrUnavailable)
	}
	wrapped, err := u.keys.providers[id.Algorithm].Wrap(ctx, random, u.wrapping(id.Algorithm, secret), dataKey)
	if isRefusal(err) {
		// There is no envelope yet that the error could be about.
		return fmt.Errorf("%w: %s", ErrUnavailable, err.Error())
	}
	if err != nil {
		return unavailable(err)
	}
	// The associated data names the version that was asked for.
	if wrapped.Version != id.Version {
		return fmt.Errorf("%w: it wrapped under version %d when asked for %d", ErrUnavailable, wrapped.Version, id.Version)
	}
	p.key = id
	p.wrapNonce, p.wrapped = wrapped.Nonce[:], wrapped.Key[:]
	return nil
}

// unwrap returns the envelope's parts and its data key, which the caller
// clears.
func (u *User) unwrap(ctx context.Context, secret string, envelope []byte) (parsed, []byte, error) {
	if !bindable(secret) {
		return parsed{}, nil, ErrBinding
	}
	p, err := parse(envelope)
	if err != nil {
		return parsed{}, nil, err
	}
	provider, err := u.keys.provider(p.key)
	if err != nil {
		return parsed{}, nil, err
	}
	wrapped := Wrapped{Version: p.key.Version, Nonce: [nonceSize]byte(p.wrapNonce), Key: [wrappedSize]byte(p.wrapped)}
	dataKey, err := provider.Unwrap(ctx, u.wrapping(p.key.Algorithm, secret), wrapped)
	if err != nil {
		clear(dataKey)
		if !isRefusal(err) {
			err = unavailable(err)
		}
		return parsed{}, nil, err
	}
	// AES takes shorter keys too.
	if len(dataKey) != KeySize {
		clear(dataKey)
		return parsed{}, nil, fmt.Errorf("%w: it unwrapped a data key of %d bytes", ErrUnavailable, len(dataKey))
	}
	return p, dataKey, nil
}
