// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Canonical returns the bytes that a signature covers: the members of a recipe
// that fields names, as far as they are there, with all keys sorted and without
// spaces, as JavaScript's JSON.stringify writes them.
func Canonical(doc jsondoc.Value, fields []string) []byte {
	signed := jsondoc.Value{Kind: jsondoc.Object}
	for _, m := range doc.Members {
		if slices.Contains(fields, m.Name) {
			signed.Members = append(signed.Members, m)
		}
	}
	return appendCanonical(nil, signed)
}

func appendCanonical(b []byte, v jsondoc.Value) []byte {
	switch v.Kind {
	case jsondoc.Bool:
		return append(b, v.Text...)
	case jsondoc.Number:
		return append(b, number(v.Text)...)
	case jsondoc.String:
		return appendString(b, v.Text)
	case jsondoc.Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case jsondoc.Object:
		b = append(b, '{')
		for i, m := range slices.SortedFunc(slices.Values(v.Members), byName) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.Name), ':')
			b = appendCanonical(b, m.Value)
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

// byName orders members as JavaScript sorts strings: by UTF-16 code units, in
// which characters beyond the basic plane come before U+E000.
func byName(x, y jsondoc.Member) int {
	if isASCII(x.Name) && isASCII(y.Name) {
		return cmp.Compare(x.Name, y.Name)
	}
	return slices.Compare(utf16.Encode([]rune(x.Name)), utf16.Encode([]rune(y.Name)))
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// number returns a JSON number as JavaScript writes it (ECMA-262, Number::toString):
// the shortest digits of the double, with an exponent below 1e-6 and from 1e21.
func number(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return "null" // jsondoc.Parse lets none such through.
	}
	if f == 0 {
		return "0" // also of -0
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	// Go writes at least two digits of exponent.
	s = strings.Replace(s, "e-0", "e-", 1)
	return strings.Replace(s, "e+0", "e+", 1)
}

const hexDigits = "0123456789abcdef"

// short are the control characters with an escape of their own.
var short = map[byte]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\'}

// appendString appends s as JavaScript quotes it, which escapes less than Go.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		switch escape, ok := short[c]; {
		case ok:
			b = append(b, '\\', escape)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
