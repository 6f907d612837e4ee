// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// Launch describes a program and its input. It contains secrets: formatting, encoding and logging
// never show its contents.
type Launch struct {
	// Server is the server's name for the shim's log. It may be empty.
	Server string
	// Command is the program and its arguments. In each, ${CONFIG_DIR} stands
	// for the folder of Files.
	Command []string
	// Env are the program's variables as "K=V", except for the few that every program gets. In a
	// value, ${CONFIG_DIR} stands for the folder of Files.
	Env []string
	// Files are written before the program starts, readable only by its user, and removed after it
	// has ended.
	Files []File
	// Dir is the program's working directory. If it is empty, the program uses that of the process
	// that runs it: in a container, the image's.
	Dir string
	// Secrets are redacted from the program's log. If it is nil, all values of Env and all
	// contents of Files are redacted.
	Secrets []string
}

// File is one file for a program. Its name must not contain a path.
type File struct {
	Name    string
	Content []byte
}

// hidden is printed instead of a Launch.
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

// name is the program's name in errors: the last part of its path, without secrets, and never an
// argument.
func (l Launch) name() string {
	if len(l.Command) == 0 {
		return ""
	}
	return fmt.Sprintf("%.80s", l.Redactor().Redact(filepath.Base(l.Command[0])))
}

// check returns an error for an invalid Launch. The error contains positions only, never values.
func (l Launch) check() error {
	if len(l.Command) == 0 || l.Command[0] == "" {
		return errors.New("the command is empty")
	}
	for i, s := range l.Command {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("command[%d] holds a NUL byte", i)
		}
	}
	for i, s := range l.Env {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" || strings.ContainsRune(s, 0) {
			return fmt.Errorf("env[%d] is not a variable's name, = and its value without a NUL byte", i)
		}
	}
	for i, f := range l.Files {
		if !f.within() {
			return fmt.Errorf("files[%d] has a name that is not one of a file within its folder", i)
		}
	}
	return nil
}

// within reports whether the file is directly in its folder.
func (f File) within() bool {
	return filepath.IsLocal(f.Name) && f.Name != "." && !strings.ContainsAny(f.Name, "/\\\x00")
}

// configDir stands for the folder of a program's files.
const configDir = "${CONFIG_DIR}"

// expand returns the command and the variables with the folder's path.
func (l Launch) expand(folder string) (command, env []string) {
	replace := func(from []string) []string {
		to := make([]string, len(from))
		for i, s := range from {
			to[i] = strings.ReplaceAll(s, configDir, folder)
		}
		return to
	}
	return replace(l.Command), replace(l.Env)
}

// minPart is the minimum length in bytes of a part of a secret that is redacted on its own.
// Shorter lines and fields are words such as "oauth2", which help a reader of the log and reveal
// little.
const minPart = 8

// Redactor returns the redactor of the program's secrets. A program may print a secret of several
// lines line by line, or a single field of a JSON secret, so these parts are redacted too.
func (l Launch) Redactor() secret.Redactor {
	whole := l.Secrets
	if whole == nil {
		for _, s := range l.Env {
			_, value, _ := strings.Cut(s, "=")
			whole = append(whole, value)
		}
		for _, f := range l.Files {
			whole = append(whole, string(f.Content))
		}
	}
	values := make(map[string][]byte)
	var names []string
	for _, value := range whole {
		for _, s := range append(parts(value), value) {
			if values[s] == nil {
				values[s] = []byte(s)
				names = append(names, s)
			}
		}
	}
	return secret.NewSet("", values, nil).Grant(names).Redactor()
}

// parts returns the lines of a text, and all strings if it is JSON.
func parts(text string) []string {
	var found []string
	keep := func(s string) {
		for _, s := range append(slices.Collect(strings.Lines(s)), s) {
			if s = strings.TrimSpace(s); len(s) >= minPart && s != text {
				found = append(found, s)
			}
		}
	}
	keep(text)
	var value any
	if strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &value) == nil {
		leaves(value, keep)
	}
	return found
}

// leaves calls keep with every string in a JSON value, except for the names of fields.
func leaves(value any, keep func(string)) {
	switch v := value.(type) {
	case string:
		keep(v)
	case []any:
		for _, e := range v {
			leaves(e, keep)
		}
	case map[string]any:
		for _, e := range v {
			leaves(e, keep)
		}
	}
}
