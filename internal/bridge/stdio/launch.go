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

// Launch is a program and all that it gets. It holds secrets: no formatting,
// encoding or logging shows more than that it is one.
type Launch struct {
	// Server is the server's name in what a shim logs of the program. It may
	// be empty.
	Server string
	// Command is the program and its arguments. In each, ${CONFIG_DIR} stands
	// for the folder of Files.
	Command []string
	// Env are the program's variables as "K=V", all but the few that every
	// program needs. In a value, ${CONFIG_DIR} stands for the folder of Files.
	Env []string
	// Files are written before the program starts, readable by it alone, and
	// removed when it has ended.
	Files []File
	// Dir is the program's working directory. Empty is that of the process
	// which runs it: in a container, the image's.
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

// name is what the program is called in errors: the last part of its path,
// without secrets, and never an argument.
func (l Launch) name() string {
	if len(l.Command) == 0 {
		return ""
	}
	return fmt.Sprintf("%.80s", l.redactor().Redact(filepath.Base(l.Command[0])))
}

// check reports what cannot be run. Its errors quote nothing but positions.
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

// within reports whether the file is one directly in the folder it is put in.
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

// minPart is the length from which on a part of a secret is one itself, in
// bytes. Shorter lines and fields are words such as "oauth2", whose place in a
// log is worth more than what they tell.
const minPart = 8

// redactor returns what takes the secrets out of texts. A program that prints
// a secret of several lines does so in as many, and one that reads a secret as
// JSON prints a field of it, so these are taken out too.
func (l Launch) redactor() secret.Redactor {
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

// parts returns the lines of a text, and the strings in it where it is JSON.
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

// leaves calls keep with every string of a JSON value that is no field's name.
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
