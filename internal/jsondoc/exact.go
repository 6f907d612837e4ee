// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"bytes"
	"encoding/json"
)

// DecodeExact stores the first value of raw in the value that into points to. A number that is
// stored in an any becomes a json.Number.
func DecodeExact(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// EncodeExact returns v as JSON without HTML escapes. It panics if v cannot be encoded: v must
// come from DecodeExact, or consist of strings and numbers.
func EncodeExact(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
