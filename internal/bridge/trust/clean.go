// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// escapes are what a terminal obeys: ECMA-48's control sequences, operating
	// system commands with either end, and the two-character escapes.
	escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -~]?`)
	// markup is a comment, an element whose content is not text, or any tag:
	// also those that HTML does not know, since <system> is meant for a model.
	// A comment or such an element that does not end goes to the end of the
	// text, as a browser would have it.
	markup = regexp.MustCompile(`(?is)<!--.*?(?:-->|\z)|` +
		`<script\b.*?(?:</script\s*>|\z)|<style\b.*?(?:</style\s*>|\z)|<iframe\b.*?(?:</iframe\s*>|\z)|` +
		`<object\b.*?(?:</object\s*>|\z)|<template\b.*?(?:</template\s*>|\z)|<noscript\b.*?(?:</noscript\s*>|\z)|` +
		`</?[a-z][^<>]*>|<[!?][^<>]*>`)
)

// maxPasses bounds how often a text is gone through: what one pass takes out
// may have parted what the next one finds.
const maxPasses = 8

// Clean returns s without what makes a terminal or a browser act, what cannot
// be seen, and well-known instructions to models. It takes more than it must:
// the type parameters of a program look like tags.
func Clean(s string) string {
	for range maxPasses {
		before := s
		s = cleanOnce(s)
		if s == before {
			return s
		}
	}
	// A text that is made to outlast this many passes has no tags that matter.
	s = strings.NewReplacer("<", "", ">", "").Replace(s)
	for before := ""; s != before; {
		before, s = s, cleanOnce(s)
	}
	return s
}

func cleanOnce(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.Map(visible, s)
	s = withoutPhrases(s)
	if strings.Contains(s, "<") {
		s = markup.ReplaceAllString(s, "")
	}
	return s
}

// visible returns r, or -1 for what has no shape of its own: controls but for
// the end of a line and the tab, format characters, among them all that changes
// the direction of text, joins or parts letters or repeats ASCII unseen, the
// selectors by which any bytes can be hidden, and letters that are blank.
func visible(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r // the most there is, without a look into the tables
	case r == '\n', r == '\t', r == '\r':
		return r
	case unicode.In(r, unicode.Cc, unicode.Cf):
		return -1
	case r >= 0xFE00 && r <= 0xFE0D, r >= 0xE0000 && r <= 0xE0FFF:
		return -1 // U+FE0E and U+FE0F choose between text and emoji
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x180B, r == 0x180C, r == 0x180D, r == 0x180F,
		r == 0x2028, r == 0x2029, r == 0x3164, r == 0xFFA0:
		return -1
	}
	return r
}
