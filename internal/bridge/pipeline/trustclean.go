// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// escapes are terminal commands: ECMA-48's control sequences, operating system commands with
	// either end, and the two-character escapes.
	escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -~]?`)
	// markup matches a comment, an element whose content is not text, or any tag, including tags
	// that HTML does not have: <system> is meant for a model. An unclosed comment or element
	// extends to the end of the text, as in a browser.
	markup = regexp.MustCompile(`(?is)<!--.*?(?:-->|\z)|` +
		`<script\b.*?(?:</script\s*>|\z)|<style\b.*?(?:</style\s*>|\z)|<iframe\b.*?(?:</iframe\s*>|\z)|` +
		`<object\b.*?(?:</object\s*>|\z)|<template\b.*?(?:</template\s*>|\z)|<noscript\b.*?(?:</noscript\s*>|\z)|` +
		`</?[a-z][^<>]*>|<[!?][^<>]*>`)
)

// maxPasses limits the number of passes over a text: a removal may join the parts of something
// that the next pass must remove.
const maxPasses = 8

// cleanText returns s without terminal commands, markup, invisible characters and well-known
// instructions to models. It sometimes removes too much: the type parameters of a program look
// like tags.
func cleanText(s string) string {
	for range maxPasses {
		before := s
		s = cleanOnce(s)
		if s == before {
			return s
		}
	}
	// After this many passes, the text is an attack: remove all angle brackets.
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

// visible returns r, or -1 for an invisible character: controls except for line end and tab;
// format characters, which can change the direction of text, join or separate letters or hide
// ASCII; variation selectors, which can hide any bytes; and blank letters.
func visible(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r // the common case, without a look into the tables
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
