// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "context"

// CheckSalt returns ErrSaltMissing, ErrSaltInvalid or ErrNotOwned when nothing
// of the bridge's can be opened, ErrForbidden or ErrUnavailable when that is not
// known. It asks no key provider.
func (s *Store) CheckSalt(ctx context.Context, b Bridge) error {
	_, err := s.user(ctx, b)
	return err
}
