// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Key joins parts so that different parts never result in the same key. The key of the first parts
// is a prefix of the key of all parts.
func Key(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// Canonical returns the canonical JSON of a call's arguments: equal arguments have equal texts,
// different arguments have different texts. No arguments equal an empty object. It fails on
// arguments that servers may parse differently.
func Canonical(arguments []byte) (string, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return "{}", nil
	}
	return jsondoc.CanonicalExact(arguments)
}
