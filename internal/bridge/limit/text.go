// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns the beginning of s with a note of how much of it that is, in
// about limit bytes of JSON and never much more than the note takes. It ends
// with a line, if one ends near.
func Text(s string, limit int) string {
	if encoded(s) <= limit {
		return s
	}
	kept := s[:fitting(s, limit-len(note(len(s), len(s))))]
	// Three quarters: a text of few long lines should not lose most of itself.
	if end := strings.LastIndexByte(kept, '\n'); end >= len(kept)/4*3 {
		kept = kept[:end]
	}
	return kept + note(len(kept), len(s))
}

// note begins on a line of its own. The line's end is two bytes of JSON.
func note(kept, of int) string { return fmt.Sprintf("\n[truncated: %d of %d bytes]", kept, of) }

// fitting returns how many bytes of s are at most limit bytes of JSON and end
// with a character.
func fitting(s string, limit int) int {
	size := len(`""`) + 1 // the note's line end
	for i, c := range s {
		if size += encodedRune(c, s[i:]); size > limit {
			return i
		}
	}
	return len(s)
}

// encoded returns the size of s in bytes of JSON.
func encoded(s string) int {
	size := len(`""`)
	for i, c := range s {
		size += encodedRune(c, s[i:])
	}
	return size
}

// encodedRune returns the size of c in bytes of JSON, at the beginning of rest.
func encodedRune(c rune, rest string) int {
	switch {
	case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
		return 2
	case c < 0x20, c == '\u2028', c == '\u2029':
		return 6
	case c == utf8.RuneError:
		if _, width := utf8.DecodeRuneInString(rest); width == 1 {
			return 6
		}
	}
	return utf8.RuneLen(c)
}
