// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"fmt"
	"io"
	"log/slog" //nolint:depguard // Only for the type of LogValue: nothing is logged.
	"sync"
)

// hidden is printed instead of a secret.
const hidden = "[redacted]"

// Value is one secret. Its copies share one content, so that a single Wipe erases all of them. The
// zero Value is empty.
type Value struct {
	// A function, because package fmt prints unexported fields of structs without calling their
	// methods. With a wrong verb it follows a pointer; of a function it prints only the address.
	held func() *content
}

type content struct {
	mu    sync.RWMutex
	bytes []byte
}

// New returns a Value that takes ownership of b: the caller must not use b any more.
func New(b []byte) Value {
	c := &content{bytes: b}
	return Value{held: func() *content { return c }}
}

// content returns the content of v. It is never nil.
func (v Value) content() *content {
	if v.held == nil {
		return &content{}
	}
	return v.held()
}

// Reveal returns the secret. The copy cannot be wiped.
func (v Value) Reveal() string {
	c := v.content()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return string(c.bytes)
}

// Equal reports whether v and other have the same content.
func (v Value) Equal(other Value) bool { return v.Reveal() == other.Reveal() }

// Wipe overwrites the secret with zeros and makes the Value empty. This is best effort: strings
// from Reveal stay until they are garbage-collected, and so may copies of the runtime.
func (v Value) Wipe() {
	c := v.content()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.bytes)
	c.bytes = nil
}

var (
	_ fmt.Formatter  = Value{}
	_ fmt.Stringer   = Value{}
	_ slog.LogValuer = Value{}
)

// Format implements fmt.Formatter for all verbs.
func (Value) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// String implements fmt.Stringer, for callers that do not use package fmt.
func (Value) String() string { return hidden }

// MarshalText implements encoding.TextMarshaler, which JSON and XML use.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }
