// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exact reads and writes JSON of others without changing more of it than
// is meant: numbers keep their digits, and text is not escaped for HTML.
//
// The package is pure and uses the standard library alone.
package exact

import (
	"bytes"
	"encoding/json"
)

// Decode stores the first value of raw in what into points to. A number that
// goes into an any stays a json.Number.
func Decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// Encode returns v as JSON. It panics on what is none: v is what Decode gave, or
// made of texts and numbers.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
