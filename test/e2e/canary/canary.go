// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package canary finds a value that should be nowhere, wherever it lies and in
// whichever of the usual forms: as it is, and in base64, hex, percent-encoding
// or one of the forms in which Go prints bytes. The package is pure; who uses
// it brings what is to be searched.
//
// A form is searched by the longest run of letters and digits in the value. No
// escaping changes those, so that one search finds a value within JSON, a URL
// or a quoted string, and one that was cut off at its ends too.
package canary

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// minimum is how many letters and digits in a row a value must have: so many
// are nowhere by chance.
const minimum = 20

// Canary is a value to be searched for.
type Canary struct {
	// name stands for the value in what is reported.
	name  string
	forms []form
}

// form is one way in which the value may be written.
type form struct {
	name string
	text string
}

// New returns the canary of a value. Its name stands for it in findings, which
// never show the value.
func New(name, value string) (Canary, error) {
	core := longestRun(value)
	if len(core) < minimum {
		return Canary{}, fmt.Errorf("canary %s has no %d letters and digits in a row", name, minimum)
	}
	return Canary{name: name, forms: formsOf(core)}, nil
}

// longestRun returns the longest run of ASCII letters and digits, the first of
// equal ones.
func longestRun(s string) string {
	longest := ""
	for run := range strings.FieldsFuncSeq(s, func(r rune) bool { return !isAlphanumeric(r) }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func formsOf(core string) []form {
	digits := hex.EncodeToString([]byte(core))
	forms := []form{
		{"plain", core},
		{"hex", digits},
		{"hex in capitals", strings.ToUpper(digits)},
		{"hex with spaces", join(core, "%02x", " ")},
		{"percent-encoded", join(core, "%%%02X", "")},
		{"percent-encoded in small letters", join(core, "%%%02x", "")},
		{"a list of numbers", join(core, "%d", " ")},
		{"a list of numbers with commas", join(core, "%d", ",")},
		{"a list of numbers with commas and spaces", join(core, "%d", ", ")},
		{"a Go literal", join(core, "%#x", ", ")},
	}
	for offset := range 3 {
		for _, alphabet := range []struct {
			name     string
			encoding *base64.Encoding
		}{{"base64", base64.RawStdEncoding}, {"base64 of URLs", base64.RawURLEncoding}} {
			f := form{fmt.Sprintf("%s at %d", alphabet.name, offset), aligned(alphabet.encoding, core, offset)}
			// The two alphabets differ in two letters only.
			if n := len(forms); forms[n-1].text != f.text {
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// join formats each byte and joins them.
func join(s, format, separator string) string {
	parts := make([]string, len(s))
	for i := range len(s) {
		parts[i] = fmt.Sprintf(format, s[i])
	}
	return strings.Join(parts, separator)
}

// aligned returns those letters of the base64 of s that its neighbours do not
// influence, where s begins offset bytes after a multiple of three.
func aligned(encoding *base64.Encoding, s string, offset int) string {
	encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", offset) + s))
	// A letter has 6 bits: the first that is wholly s's, and the end of those.
	first := (8*offset + 5) / 6
	return encoded[first : 8*(offset+len(s))/6]
}
