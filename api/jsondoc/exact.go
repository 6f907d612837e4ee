// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"bytes"
	"encoding/json"
	"io"
)

// DecodeExact stores the first value of raw in the value that into points to. A number that is
// stored in an any becomes a json.Number.
func DecodeExact(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// Marshal returns v as JSON without HTML escapes. What people read is encoded by it: clients show
// the body of an error as it came, in which \u003c is no sign for anybody, and no page shows
// JSON without escapes of its own.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// EncodeExact is Marshal for a value that can be encoded: one that comes from DecodeExact, or
// consists of texts, numbers and booleans. It panics otherwise.
func EncodeExact(v any) json.RawMessage {
	b, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Print writes v for people: as Marshal does, in lines that are indented.
func Print(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
