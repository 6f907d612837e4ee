// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// callsAtOnce is how many secrets of one bridge a transit engine opens at a
// time. Each is a call of some milliseconds, or of 100 to a Vault far away; a
// bridge may have hundreds, and its answer must come within 10 seconds.
const callsAtOnce = 16

// Opened are the secrets of a bridge that open.
type Opened struct {
	Values map[string][]byte
	// Unreadable are the names of the secrets that do not open, sorted. The log
	// says why.
	Unreadable []string
	Revision   string
}

// Wipe overwrites the values when they are not needed any more. It is best
// effort: the runtime may have copied them.
func (o Opened) Wipe() {
	for _, value := range o.Values {
		clear(value)
	}
}

// List returns the bridge's secrets. It opens nothing.
func (s *Store) List(ctx context.Context, b Bridge) (Listing, error) {
	current, err := s.read(ctx, b)
	return current.Listing, err
}

// Open opens the bridge's secrets. A secret that does not open does not stop
// the others.
func (s *Store) Open(ctx context.Context, b Bridge) (Opened, error) {
	opened, _, err := s.OpenUnless(ctx, b, "")
	return opened, err
}

// OpenUnless is Open unless the secrets still have the given revision: then
// nothing is opened and changed is false. An empty revision always opens.
func (s *Store) OpenUnless(ctx context.Context, b Bridge, revision string) (opened Opened, changed bool, err error) {
	current, err := s.read(ctx, b)
	if err != nil {
		return Opened{}, false, err
	}
	if revision != "" && revision == current.Revision {
		return Opened{Revision: revision}, false, nil
	}
	var user *envelope.User
	if len(current.Entries) > 0 {
		user, err = s.user(ctx, b)
		if saltless(err) {
			s.warn(ctx, b, "secrets not opened", slog.Int("secrets", len(current.Entries)), slog.Any("error", err))
			return allUnreadable(current), true, nil
		}
		if err != nil {
			return Opened{}, false, err
		}
	}
	opened, err = s.openAll(ctx, b, user, current)
	return opened, true, err
}

func allUnreadable(current snapshot) Opened {
	opened := Opened{Values: map[string][]byte{}, Revision: current.Revision}
	for _, e := range current.Entries {
		opened.Unreadable = append(opened.Unreadable, e.Name)
	}
	return opened
}

func (s *Store) openAll(ctx context.Context, b Bridge, user *envelope.User, current snapshot) (Opened, error) {
	opened := Opened{Values: make(map[string][]byte, len(current.Entries)), Revision: current.Revision}
	results, err := unsealAll(ctx, user, current)
	for i, e := range current.Entries {
		switch r := results[i]; {
		case err != nil:
			clear(r.value)
		case r.err != nil:
			s.warn(ctx, b, "secret not opened", slog.String("secret", e.Name), slog.String("key", e.Key.String()), slog.Any("error", r.err))
			opened.Unreadable = append(opened.Unreadable, e.Name)
		default:
			opened.Values[e.Name] = r.value
		}
	}
	if err != nil {
		return Opened{}, err
	}
	return opened, nil
}

// unsealed is the result for one envelope.
type unsealed struct {
	value []byte
	err   error
}

// unsealAll opens every envelope of the Secret, in the order of the entries.
// The error is ErrUnavailable; the values opened until then come with it.
func unsealAll(ctx context.Context, user *envelope.User, current snapshot) ([]unsealed, error) {
	results := make([]unsealed, len(current.Entries))
	one := func(ctx context.Context, i int) error {
		r := &results[i]
		r.value, r.err = unseal(ctx, user, current.Entries[i].Name, current.secret)
		if errors.Is(r.err, ErrUnavailable) {
			return r.err
		}
		return nil
	}
	if !slices.ContainsFunc(current.Entries, func(e Entry) bool { return e.Key.Algorithm == envelope.AlgorithmTransit }) {
		for i := range results {
			if err := one(ctx, i); err != nil {
				return results, err
			}
		}
		return results, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callsAtOnce)
	for i := range results {
		group.Go(func() error { return one(ctx, i) })
	}
	return results, group.Wait()
}

// unseal opens one envelope of the Secret. The error is ErrUnavailable or
// ErrUnreadable.
func unseal(ctx context.Context, user *envelope.User, name string, secret *corev1.Secret) ([]byte, error) {
	value, err := envelope.Open(ctx, user, name, secret.Data[name])
	if errors.Is(err, envelope.ErrUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: Secret %s/%s: %w", ErrUnreadable, secret.Namespace, secret.Name, err)
	}
	return value, nil
}

// opener returns a function that opens one secret of current. It reads the salt
// when it is first called.
func (s *Store) opener(ctx context.Context, b Bridge, current snapshot) func(name string) ([]byte, error) {
	keys := sync.OnceValues(func() (*envelope.User, error) { return s.user(ctx, b) })
	return func(name string) ([]byte, error) {
		if _, found := current.Find(name); !found {
			return nil, fmt.Errorf("%w: %q", ErrNotFound, name)
		}
		user, err := keys()
		if saltless(err) {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if err != nil {
			return nil, err
		}
		return unseal(ctx, user, name, current.secret)
	}
}

// OpenBackup opens the secrets in the two Secrets of a backup, which were
// sealed for this former owner. It needs no API server. It checks only the content
// of the Secrets: envelopes of another user do not open.
func (s *Store) OpenBackup(ctx context.Context, b Bridge, envelopes, salt *corev1.Secret) (Opened, []Entry, error) {
	if envelopes == nil {
		return Opened{Values: map[string][]byte{}}, nil, nil
	}
	current, err := take(envelopes)
	if err != nil {
		s.warn(ctx, b, "secrets' index not read", slog.Any("error", err))
	}
	if len(current.Entries) == 0 {
		return Opened{Values: map[string][]byte{}}, nil, nil
	}
	if salt == nil {
		return Opened{}, nil, fmt.Errorf("%w: it is not in the backup", ErrSaltMissing)
	}
	user, err := s.userOf(b, salt)
	if err != nil {
		return Opened{}, nil, err
	}
	opened, err := s.openAll(ctx, b, user, current)
	return opened, current.Entries, err
}
