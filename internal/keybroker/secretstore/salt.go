// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import "context"

// CheckSalt returns ErrSaltMissing, ErrSaltInvalid or ErrNotOwned if no secret
// of the bridge can be opened, and ErrForbidden or ErrUnavailable if that is
// not known. It asks no key provider.
func (s *Store) CheckSalt(ctx context.Context, b Bridge) error {
	_, err := s.user(ctx, b)
	return err
}
