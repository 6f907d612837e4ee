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
func ShownName(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	return name
}
