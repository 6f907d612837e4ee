// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// Rewrap wraps every secret that is not under the current key yet, in one
// write, and returns the resulting listing and how many were wrapped. A secret
// that does not open stays as it is, and the log says why.
func (s *Store) Rewrap(ctx context.Context, b Bridge) (l Listing, done int, err error) {
	for range maxTries {
		current, err := s.read(ctx, b)
		if err != nil || s.isCurrent(current.Listing) {
			return current.Listing, 0, err
		}
		data, err := s.rewrap(ctx, b, current)
		if err != nil || len(data) == 0 {
			return current.Listing, 0, err
		}
		next, err := s.put(ctx, b, current, data)
		if err == nil {
			return next.Listing, len(data), nil
		}
		if !errors.Is(err, errOvertaken) {
			return Listing{}, 0, err
		}
	}
	return Listing{}, 0, fmt.Errorf("%w: rewrap for HostedBridge %s/%s", ErrConflict, b.Namespace, b.Name)
}

// isCurrent reports whether the headers alone show that nothing has to be
// rewrapped, so that the salt need not be read.
func (s *Store) isCurrent(l Listing) bool {
	current := s.Keys().Current()
	for _, e := range l.Entries {
		if e.Key != (envelope.KeyID{}) && e.Key != current {
			return false
		}
	}
	return true
}

// rewrap returns the envelopes that change.
func (s *Store) rewrap(ctx context.Context, b Bridge, current snapshot) (map[string][]byte, error) {
	user, err := s.user(ctx, b)
	if saltless(err) {
		s.warn(ctx, b, "secrets not rewrapped", slog.Any("error", err))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for _, e := range current.Entries {
		sealed, changed, err := envelope.Rewrap(ctx, s.Random, user, e.Name, current.secret.Data[e.Name])
		switch {
		case errors.Is(err, envelope.ErrUnavailable):
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case err != nil:
			s.warn(ctx, b, "secret not rewrapped", slog.String("secret", e.Name), slog.String("key", e.Key.String()), slog.Any("error", err))
		case changed:
			data[e.Name] = sealed
		}
	}
	return data, nil
}
