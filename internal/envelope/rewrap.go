// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"context"
	"fmt"
	"io"
)

// Rewrap returns the envelope under the current key, and whether it had another
// one before. The secret is not decrypted, and its bytes in the envelope stay
// the same: a rotation never holds a plaintext, and damage to the data is found
// by Open and not here. All else that Open refuses, Rewrap refuses with the
// same error.
//
// An envelope of the current version comes back as it is. So does one of a
// later version: another process is ahead in the rotation, and two that rewrap
// in opposite directions would never end.
//
// An envelope of another algorithm than the current one is opened and sealed
// again, since its data are bound to the algorithm. So all processes must agree
// on which algorithm is current.
func Rewrap(ctx context.Context, random io.Reader, u *User, secret string, envelope []byte) (out []byte, changed bool, err error) {
	p, dataKey, err := u.unwrap(ctx, secret, envelope)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	defer clear(dataKey)
	current := u.keys.Current()
	if p.key.Algorithm != current.Algorithm {
		return u.reseal(ctx, random, secret, p, dataKey)
	}
	if p.key.Version >= current.Version {
		return envelope, false, nil
	}
	if err := u.wrap(ctx, random, secret, dataKey, &p); err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	return p.encode(), true, nil
}

// reseal seals again what the data key opens, under another algorithm.
func (u *User) reseal(ctx context.Context, random io.Reader, secret string, p parsed, dataKey []byte) ([]byte, bool, error) {
	plaintext, err := u.decrypt(p, secret, dataKey)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	defer clear(plaintext)
	sealed, err := Seal(ctx, random, u, secret, plaintext)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap: %w", err)
	}
	return sealed, true, nil
}
