// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Destroy deletes the salt of a bridge's secrets and then the secrets, and reads back that
// both are gone. Without the salt, no copy of the secrets opens, such as one in a backup
// that does not have the salt too. It is no error if there are none. After an error some of
// it may be done; another call does the rest.
func (s *Store) Destroy(ctx context.Context, b Bridge) error {
	for _, name := range []string{b.SaltName(), b.EnvelopesName()} {
		secret, err := s.owned(ctx, b, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.Secrets.DeleteSecret(ctx, secret); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Secret %s/%s: %w", b.Namespace, name, classify(err))
		}
		if _, err := s.owned(ctx, b, name); !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("look whether Secret %s/%s is deleted: %w", b.Namespace, name, errors.Join(err, ErrNotReady))
		}
	}
	return nil
}
