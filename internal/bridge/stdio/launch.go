// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"fmt"
	"io"
	"log/slog"
)

// Launch is a program and all that it gets. It holds secrets: no formatting,
// encoding or logging shows more than that it is one.
type Launch struct {
	// Server is the server's name in what a shim logs of the program. It may
	// be empty.
	Server string
	// Command is the program and its arguments. In an argument, ${CONFIG_DIR}
	// stands for the folder of Files.
	Command []string
	// Env are the program's variables as "K=V", all but the few that every
	// program needs. In a value, ${CONFIG_DIR} stands for the folder of Files.
	Env []string
	// Files are written before the program starts, readable by it alone, and
	// removed when it has ended.
	Files []File
	// Dir is the program's working directory. Empty is its home.
	Dir string
	// Secrets are the texts that are taken out of what is logged of the
	// program. Nil takes out all values of Env and all contents of Files.
	Secrets []string
}

// File is one file for a program. Its name leads out of no folder.
type File struct {
	Name    string
	Content []byte
}

// hidden stands for a Launch wherever one is shown.
const hidden = "[launch]"

// Format implements fmt.Formatter for all verbs.
func (l Launch) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (l Launch) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler, for JSON and other encodings.
func (l Launch) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Format implements fmt.Formatter for all verbs.
func (f File) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue implements slog.LogValuer.
func (f File) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler, for JSON and other encodings.
func (f File) MarshalText() ([]byte, error) { return []byte(hidden), nil }
