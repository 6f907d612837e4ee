// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"fmt"
	"io"
	"log/slog" //nolint:depguard // Only for the type of LogValue: nothing is logged.
	"maps"
	"slices"
)

// Set holds all secrets of a user at one revision. It is immutable except for Wipe.
type Set struct {
	revision   string
	values     map[string]Value
	unreadable map[string]bool
}

// NewSet returns a set that takes ownership of the contents of values. An unreadable name has no
// value, even if values has one.
func NewSet(revision string, values map[string][]byte, unreadable []string) *Set {
	s := &Set{revision: revision, values: make(map[string]Value, len(values)), unreadable: make(map[string]bool, len(unreadable))}
	for _, name := range unreadable {
		s.unreadable[name] = true
	}
	for name, b := range values {
		value := New(b)
		if s.unreadable[name] {
			value.Wipe()
			continue
		}
		s.values[name] = value
	}
	return s
}

// Revision identifies this state of the secrets. It is empty if there are no secrets yet.
func (s *Set) Revision() string {
	if s == nil {
		return ""
	}
	return s.revision
}

// Len returns the number of secrets with a value.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.values)
}

// Unreadable returns the names of the secrets that are set but cannot be decrypted, in order.
func (s *Set) Unreadable() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.unreadable))
}

// Grant returns a view with the given names. The view of a nil set is empty.
func (s *Set) Grant(names []string) View {
	return s.GrantHeld(names, func(name string) string { return name })
}

// GrantHeld is Grant for secrets that the set has under the names that held returns.
func (s *Set) GrantHeld(names []string, held func(name string) string) View {
	v := View{values: make(map[string]Value, len(names)), unreadable: make(map[string]bool)}
	if s == nil {
		return v
	}
	for _, name := range names {
		if value, ok := s.values[held(name)]; ok {
			v.values[name] = value
		}
		if s.unreadable[held(name)] {
			v.unreadable[name] = true
		}
	}
	return v
}

// Wipe erases all values, including those in views.
func (s *Set) Wipe() {
	if s == nil {
		return
	}
	for _, value := range s.values {
		value.Wipe()
	}
}

// Format implements fmt.Formatter for all verbs.
func (s *Set) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (s *Set) LogValue() slog.Value { return slog.StringValue(hidden) }

// View is the part of a set that one server may use.
type View struct {
	values     map[string]Value
	unreadable map[string]bool
}

// Lookup returns the secret of this name if it is in the view and set.
func (v View) Lookup(name string) (string, bool) {
	value, ok := v.values[name]
	if !ok {
		return "", false
	}
	return value.Reveal(), true
}

// Unreadable reports whether the secret is in the view and set, but cannot be decrypted.
func (v View) Unreadable(name string) bool { return v.unreadable[name] }

// Equal reports whether both views have the same contents.
func (v View) Equal(other View) bool {
	return maps.EqualFunc(v.values, other.values, Value.Equal) && maps.Equal(v.unreadable, other.unreadable)
}

// Format implements fmt.Formatter for all verbs.
func (v View) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (v View) LogValue() slog.Value { return slog.StringValue(hidden) }
