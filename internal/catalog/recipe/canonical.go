// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// Canonical returns the bytes that a signature covers: the members of a recipe
// that fields names, if present, with all keys sorted and without spaces, as
// JavaScript's JSON.stringify writes them.
func Canonical(doc jsondoc.Value, fields []string) []byte {
	signed := jsondoc.Value{Kind: jsondoc.Object}
	for _, m := range doc.Members {
		if slices.Contains(fields, m.Name) {
			signed.Members = append(signed.Members, m)
		}
	}
	return signed.AppendCanonical(nil)
}
