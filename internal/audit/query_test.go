// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestACursorIsReadAsItWasWritten(t *testing.T) {
	for _, p := range []Position{{0, "w", 0}, {-5, "a writer", 1}, {time.Now().UnixMilli(), "ABCDEFGHIJKLMNOP", 1<<63 - 1}, {1, "1.2.3", 4}} {
		if got, err := ParseCursor(p.Cursor()); got != p || err != nil {
			t.Errorf("%+v is read as %+v, %v", p, got, err)
		}
	}
}

func TestWhatIsNoCursorIsRefused(t *testing.T) {
	encoded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for name, cursor := range map[string]string{
		"nothing":              "",
		"no base64":            "1.2.w",
		"no numbers":           encoded("a.b.w"),
		"no line":              encoded("1.w"),
		"no writer":            encoded("1.2."),
		"a writer of no name":  encoded("1.2.a'b"),
		"a line below none":    encoded("1.-2.w"),
		"more than any line":   encoded("1.9223372036854775808.w"),
		"a number with a plus": encoded("+1.2.w"),
		"a number with a zero": encoded("1.02.w"),
		"padding":              encoded("1.2.ww") + "=",
		"too long":             encoded("1.2." + strings.Repeat("w", 300)),
	} {
		if got, err := ParseCursor(cursor); err == nil {
			t.Errorf("%s: %q is read as %+v", name, cursor, got)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(Position{12345, "w", 6}.Cursor())
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		if p, err := ParseCursor(cursor); err == nil && (p.Cursor() != cursor || p.Seq > 1<<63-1) {
			t.Errorf("%q is read as %+v", cursor, p)
		}
	})
}
