// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
)

// Replace gives the bridge these secrets in one write. Entries carry the other
// facts beside the values: dates and sources. An existing secret must have the
// value that it would get; any other value is ErrExists, so a restore can be
// repeated and overwrites nothing.
func (s *Store) Replace(ctx context.Context, b Bridge, values map[string][]byte, entries []Entry) error {
	about := map[string]Entry{}
	for _, e := range entries {
		about[e.Name] = e
	}
	_, err := s.update(ctx, b, func(current snapshot) ([]dated, error) {
		open := s.opener(ctx, b, current)
		for _, e := range current.Entries {
			if err := unchanged(open, e.Name, values); err != nil {
				return nil, err
			}
		}
		var changes []dated
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if _, found := current.Find(name); found {
				continue
			}
			e, value := about[name], values[name]
			if value == nil {
				value = []byte{} // An empty secret, not a change of the source alone.
			}
			changes = append(changes, dated{Change{Name: name, Value: value, Source: e.Source, Origin: e.Origin}, e.Created, e.Updated})
		}
		return changes, nil
	})
	return err
}

// unchanged returns an error if the secret would get another value.
func unchanged(open func(string) ([]byte, error), name string, values map[string][]byte) error {
	want, found := values[name]
	if !found {
		return fmt.Errorf("%w: secret %q is not among those to restore", ErrExists, name)
	}
	got, err := open(name)
	if err != nil {
		return fmt.Errorf("compare secret %q: %w", name, err)
	}
	defer clear(got)
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: secret %q has another value", ErrExists, name)
	}
	return nil
}
