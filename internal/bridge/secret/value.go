// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"fmt"
	"io"
	"log/slog" //nolint:depguard // For the type of LogValue alone: nothing is logged.
	"sync"
)

// hidden is what is shown instead of a secret.
const hidden = "[redacted]"

// Value is one secret. Its copies share one content, so that one Wipe clears
// them all. The zero Value is empty.
type Value struct {
	// A function, because package fmt looks into unexported fields of other
	// structs past any method. It follows a pointer where the verb is wrong for
	// it; of a function it shows only the address.
	held func() *content
}

type content struct {
	mu    sync.RWMutex
	bytes []byte
}

// New returns a Value that takes b over: the caller must not use b any more.
func New(b []byte) Value {
	c := &content{bytes: b}
	return Value{held: func() *content { return c }}
}

// content returns what v holds, never nil.
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

// Equal reports whether v and other hold the same.
func (v Value) Equal(other Value) bool { return v.Reveal() == other.Reveal() }

// Wipe overwrites the secret with zeros and makes the Value empty. It is an
// effort and no promise: what Reveal returned stays until it is collected, and
// so may copies that the runtime made.
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

// String implements fmt.Stringer, for who calls it without package fmt.
func (Value) String() string { return hidden }

// MarshalText implements encoding.TextMarshaler, which JSON and XML use.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }
