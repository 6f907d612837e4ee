// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// members returns the members of a JSON object, in order, without decoding or
// copying their values. object must be valid JSON; of anything but an object
// there are none. Where a name stands twice, both are returned.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		rest := trimSpace(object)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		for rest = trimSpace(rest[1:]); len(rest) > 0 && rest[0] == '"'; {
			var name, value []byte
			name, rest = cutValue(rest)
			rest = trimSpace(rest)
			if len(rest) == 0 {
				return
			}
			value, rest = cutValue(trimSpace(rest[1:])) // The colon is one byte.
			if !yield(nameOf(name), value) {
				return
			}
			if rest = trimSpace(rest); len(rest) == 0 || rest[0] != ',' {
				return
			}
			rest = trimSpace(rest[1:])
		}
	}
}

// items returns the items of a JSON array, as members does.
func items(array []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		rest := trimSpace(array)
		if len(rest) == 0 || rest[0] != '[' {
			return
		}
		for rest = trimSpace(rest[1:]); len(rest) > 0 && rest[0] != ']'; {
			var item []byte
			item, rest = cutValue(rest)
			if !yield(item) {
				return
			}
			if rest = trimSpace(rest); len(rest) == 0 || rest[0] != ',' {
				return
			}
			rest = trimSpace(rest[1:])
		}
	}
}

// cutValue returns the JSON value at the beginning of b and what follows it.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = endOfString(b, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return b[:i], b[i:]
			}
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return b[:i], b[i:]
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			end := min(i+1, len(b))
			return b[:end], b[end:]
		}
	}
	return b, nil
}

// endOfString returns the index of the quote that ends the string that begins
// at i, or len(b).
func endOfString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(b)
}

// nameOf returns what a JSON string says, empty for what is none.
func nameOf(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	if name, ok := names[string(inner)]; ok {
		return name
	}
	if plainASCII(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// names are those that nearly every message has, which need not be made anew.
var names = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"jsonrpc", "2.0", "id", "method", "params", "name", "arguments", "_meta", "result", "error", "code", "message",
		"content", "isError", "resultType", "structuredContent", metaVersion, audit.MethodCallTool,
	} {
		m[name] = name
	}
	return m
}()

// plainASCII reports whether b is the same in and out of a JSON string.
func plainASCII(b []byte) bool {
	for _, c := range b {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func trimSpace(b []byte) []byte {
	if len(b) > 0 && b[0] > ' ' {
		return b
	}
	return bytes.TrimLeft(b, " \t\r\n")
}
