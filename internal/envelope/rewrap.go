// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"fmt"
	"io"
)

// Rewrap returns the envelope under the ring's current key version, and
// whether it had an older one before. The secret is not decrypted, and its
// bytes in the envelope stay the same: a rotation never holds a plaintext, and
// damage to the data is found by Open and not here. All else that Open
// refuses, Rewrap refuses with the same error.
//
// An envelope of the current version comes back as it is. So does one of a
// later version: another process is ahead in the rotation, and two that
// rewrap in opposite directions would never end.
func Rewrap(random io.Reader, u *UserRing, secret string, envelope []byte) (out []byte, changed bool, err error) {
	p, dataKey, err := u.unwrap(secret, envelope)
	if err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	defer clear(dataKey)
	if p.version >= u.ring.current {
		return envelope, false, nil
	}
	if err := u.wrap(random, secret, dataKey, &p); err != nil {
		return nil, false, fmt.Errorf("rewrap %q: %w", secret, err)
	}
	return p.encode(), true, nil
}
