// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"strings"
	"unicode"
)

// maxName is how many characters of a name are shown.
const maxName = 100

// ShownName returns of a name what a page can show: printable characters, and of
// them at most 100. People and clients choose theirs, and they stand beside our
// own words. It is empty where nothing of it can be shown.
func ShownName(name string) string { return shownText(name, maxName) }

// shownText returns of a foreign text its printable characters, and of them most at most.
func shownText(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}
