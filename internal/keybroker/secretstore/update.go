// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// Change is a change of one secret.
type Change struct {
	Name string
	// Value is the new value, which may be empty but not nil. Without it and
	// Delete only the source changes; a change of the source of a missing
	// secret is ignored.
	Value []byte
	// Delete removes the secret. It is no error if the secret does not exist.
	Delete bool
	// Source is the secret's source from now on, nil for the user.
	Source *Source
	// Origin is where the value may be sent, for a secret of a SharedServer.
	Origin string
}

// dated is a change that may also set the dates of the secret, for a restore.
type dated struct {
	Change
	created, updated time.Time
}

// Update reads the bridge's secrets, calls decide to choose the changes, and
// writes all of them at once. If another writer was first it starts again, so
// decide must have no effect but its result.
//
// Without the salt, the envelopes are lost. They can be removed, and new values
// can be set if no old envelope would be left: until then the error is
// ErrSaltMissing. The function that decide gets returns ErrUnreadable for a
// secret that does not open, ErrNotFound for one that does not exist, and
// ErrUnavailable.
func (s *Store) Update(
	ctx context.Context, b Bridge,
	decide func(ctx context.Context, current Listing, open func(name string) ([]byte, error)) ([]Change, error),
) (Listing, error) {
	return s.update(ctx, b, func(current snapshot) ([]dated, error) {
		changes, err := decide(ctx, current.Listing, s.opener(ctx, b, current))
		all := make([]dated, len(changes))
		for i, c := range changes {
			all[i].Change = c
		}
		return all, err
	})
}

func (s *Store) update(ctx context.Context, b Bridge, decide func(snapshot) ([]dated, error)) (Listing, error) {
	for range maxTries {
		current, err := s.read(ctx, b)
		if err != nil {
			return Listing{}, err
		}
		changes, err := decide(current)
		if err != nil {
			return Listing{}, err
		}
		next, err := s.apply(ctx, b, current, changes)
		if !errors.Is(err, errOvertaken) {
			return next.Listing, err
		}
	}
	return Listing{}, fmt.Errorf("%w: HostedBridge %s/%s", ErrConflict, b.Namespace, b.Name)
}

// apply writes the changes, if they change anything.
func (s *Store) apply(ctx context.Context, b Bridge, current snapshot, changes []dated) (snapshot, error) {
	e, err := plan(current, changes, s.Now())
	if err != nil || !e.changes {
		return current, err
	}
	if len(e.values) > 0 {
		user, err := s.userToSeal(ctx, b, current, e)
		if err != nil {
			return snapshot{}, err
		}
		for name, value := range e.values {
			if e.data[name], err = s.seal(ctx, user, name, value); err != nil {
				return snapshot{}, err
			}
		}
	}
	return s.put(ctx, b, current, e.data)
}

func (s *Store) seal(ctx context.Context, user *envelope.User, name string, value []byte) ([]byte, error) {
	sealed, err := envelope.Seal(ctx, s.Random, user, name, value)
	switch {
	case errors.Is(err, envelope.ErrTooLong):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, envelope.ErrUnavailable):
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return sealed, err
}

// userToSeal returns the user's keys. It makes the salt if no existing envelope
// needs one: a new salt beside old envelopes would hide that they are lost.
func (s *Store) userToSeal(ctx context.Context, b Bridge, current snapshot, e edit) (*envelope.User, error) {
	user, err := s.user(ctx, b)
	if !errors.Is(err, ErrSaltMissing) {
		return user, err
	}
	dead := map[string][]byte{}
	for _, entry := range current.Entries {
		if _, changes := e.data[entry.Name]; !changes {
			return nil, fmt.Errorf("%w, and secret %q of it is still there", err, entry.Name)
		}
		dead[entry.Name] = nil
	}
	if len(dead) > 0 {
		// Before the salt is made, so that both never exist together.
		if _, err := s.put(ctx, b, current, dead); err != nil {
			return nil, err
		}
		return nil, errOvertaken
	}
	if err := s.createSalt(ctx, b); err != nil {
		return nil, err
	}
	return s.user(ctx, b)
}

// edit is a write of the bridge's envelopes before its values are sealed.
type edit struct {
	changes bool
	// values are still to be sealed.
	values map[string][]byte
	// data has every key that is written; nil removes the key.
	data map[string][]byte
}

// plan returns the write that makes these changes. It is empty if nothing would
// change.
func plan(current snapshot, changes []dated, now time.Time) (edit, error) {
	e := edit{values: map[string][]byte{}, data: map[string][]byte{}}
	next := maps.Clone(current.index)
	seen := map[string]bool{}
	for _, c := range changes {
		if !v1alpha1.ValidSecretName(c.Name) || seen[c.Name] {
			return edit{}, fmt.Errorf("%w, or two changes are of it: %q", ErrName, c.Name)
		}
		seen[c.Name] = true
		e.plan(current, next, c, now.UTC().Truncate(time.Second))
	}
	if !e.changes {
		return e, nil
	}
	if len(next) == 0 {
		if current.secret != nil {
			e.data[indexKey] = nil
		}
		return e, nil
	}
	var err error
	if e.data[indexKey], err = json.Marshal(next); err != nil {
		return edit{}, fmt.Errorf("encode index: %w", err)
	}
	return e, nil
}

// plan adds one change to the edit and to the next index.
func (e *edit) plan(current snapshot, next index, c dated, now time.Time) {
	_, found := current.Find(c.Name)
	was := next[c.Name]
	switch {
	case c.Delete && found:
		e.data[c.Name] = nil
		delete(next, c.Name)
	case c.Delete:
		return
	case c.Value != nil:
		e.data[c.Name], e.values[c.Name] = nil, c.Value
		next[c.Name] = indexed{
			Created: first(c.created, was.Created, now),
			Updated: first(c.updated, now), Source: c.Source, Origin: c.Origin,
		}
	case !found || same(was.Source, c.Source):
		return
	default:
		was.Source = c.Source
		next[c.Name] = was
	}
	e.changes = true
}

// first returns the first time that is not zero.
func first(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

func same(a, b *Source) bool { return a == b || a != nil && b != nil && *a == *b }
