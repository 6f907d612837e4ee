// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"regexp"
	"strings"
	"unicode"
)

// removed stands where a phrase was.
const removed = "[removed]"

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
	// phrases are instructions to models that are often tried, and the marks by
	// which some models' prompts tell who speaks.
	phrases = regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|every\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+|these\s+|those\s+)?(?:previous|prior|above|earlier|preceding|foregoing|former|existing|original|system|safety)\s+(?:instruction|prompt|rule|direction|guideline|command|context|message|constraint)s?\b`,
		`\b(?:ignore|disregard|forget)\s+(?:everything|all|anything)\s+(?:above|before|previous(?:ly)?|prior|you\s+(?:were|have\s+been)\s+told)\b`,
		`\b(?:ignore|disregard|forget)\s+(?:all\s+)?your\s+(?:instruction|prompt|rule|guideline|training)s?\b`,
		`\b(?:new|updated|revised|real|actual)\s+(?:system\s+)?(?:instructions|prompt)\s*:`,
		`\b(?:reveal|print|show|output|repeat|leak)\s+(?:me\s+)?(?:your|the)\s+(?:system|initial|hidden|secret)\s+(?:prompt|instructions|message)\b`,
		`\byou\s+are\s+now\s+(?:in\s+)?(?:a\s+|an\s+)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer\s+mode|debug\s+mode|god\s+mode)\b`,
		`\b(?:enter|enable|activate|switch\s+to)\s+(?:dan|developer|debug|god|jailbreak|admin)\s+mode\b`,
		`\b(?:act|behave|respond)\s+as\s+(?:if\s+you\s+(?:are|were)\s+)?(?:a\s+|an\s+)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored)\b`,
		`\bpretend\s+(?:that\s+)?you\s+(?:have\s+no|are\s+not\s+bound|are\s+free)\b`,
		`\bfrom\s+now\s+on,?\s+you\s+(?:will|must|shall|are|should)\b`,
		`\b(?:do\s+not|don't|never)\s+(?:tell|inform|alert|notify|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to|show\s+(?:this|it)\s+to)\s+the\s+user\b`,
		`\bwithout\s+(?:telling|informing|asking|alerting|notifying)\s+the\s+user\b`,
		`<\|[a-z0-9_ ]{1,40}\|>`,
		`\[/?INST\]`,
		`<</?SYS>>`,
		`(?:^|\n)\s*#{1,6}\s*(?:system|instruction)s?\s*:`,
	}, "|"))
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
	s = phrases.ReplaceAllString(s, removed)
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
