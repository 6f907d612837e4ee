// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as JSON, for the store or for an answer in JSON. JSON must be able
// to hold v. It does not escape HTML: no page shows the text, and escaped text from
// clients could take six times the room.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
