// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retain notes until when the secrets of a bridge are kept that nobody may use, in whole
// seconds; the zero time removes the note. It is beside the secrets, which no process but the
// keybroker may write, and goes with them.
func (s *Store) Retain(ctx context.Context, b Bridge, until time.Time) error {
	var note []byte
	if !until.IsZero() {
		note = []byte(until.UTC().Format(time.RFC3339))
	}
	for range maxTries {
		current, err := s.read(ctx, b)
		if err != nil || current.RetainedUntil.Equal(until) {
			return err
		}
		if _, err = s.put(ctx, b, current, map[string][]byte{retainedKey: note}); !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fmt.Errorf("%w: HostedBridge %s/%s", ErrConflict, b.Namespace, b.Name)
}
