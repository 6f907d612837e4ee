// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// truncateText returns the beginning of s, with a note of how much was kept, in about limit bytes of JSON,
// exceeded by at most the note. If possible, it ends at a line end.
func truncateText(s string, limit int) string {
	if encoded(s) <= limit {
		return s
	}
	kept := s[:fitting(s, limit-len(keptNote(len(s), len(s))))]
	// At least three quarters: a text with few long lines should not lose most of itself.
	if end := strings.LastIndexByte(kept, '\n'); end >= len(kept)/4*3 {
		kept = kept[:end]
	}
	return kept + keptNote(len(kept), len(s))
}

// keptNote starts on its own line. The line end is two bytes of JSON.
func keptNote(kept, of int) string { return fmt.Sprintf("\n[truncated: %d of %d bytes]", kept, of) }

// fitting returns how many bytes of s fit into limit bytes of JSON without splitting a character.
func fitting(s string, limit int) int {
	size := len(`""`) + 1 // the note's line end
	for i, c := range s {
		if size += encodedRune(c); size > limit {
			return i
		}
	}
	return len(s)
}

// encoded returns the size of s in bytes of JSON.
func encoded(s string) int {
	size := len(`""`)
	for _, c := range s {
		size += encodedRune(c)
	}
	return size
}

// encodedRune returns the size of c in bytes of JSON. Invalid UTF-8 is written as U+FFFD.
func encodedRune(c rune) int {
	switch {
	case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
		return 2
	case c < 0x20, c == '\u2028', c == '\u2029':
		return 6
	}
	return utf8.RuneLen(c)
}
