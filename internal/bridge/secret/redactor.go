// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog" //nolint:depguard // For the type of LogValue alone: nothing is logged.
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minRedacted is the length from which on a value is taken out of texts, in
// bytes. A shorter one is no secret to who can try a few million values, and
// would make holes in words.
const minRedacted = 6

// Redactor takes secrets out of texts. It outlives a Wipe, because a server may
// still echo what it was sent before. The zero Redactor changes nothing.
type Redactor struct {
	held func() []string // a function for the same reason as in Value
}

// Redactor returns one for all values of the view.
func (v View) Redactor() Redactor {
	var values []string
	for _, value := range v.values {
		if text := strings.TrimSpace(value.Reveal()); len(text) >= minRedacted {
			values = append(values, text)
		}
	}
	// The longest first, so that of a value within another nothing remains.
	slices.SortFunc(values, longest)
	return Redactor{held: func() []string { return values }}
}

// With returns a redactor that takes these texts out too.
func (r Redactor) With(texts ...string) Redactor {
	var values []string
	if r.held != nil {
		values = slices.Clone(r.held())
	}
	for _, text := range texts {
		if text = strings.TrimSpace(text); len(text) >= minRedacted {
			values = append(values, text)
		}
	}
	slices.SortFunc(values, longest)
	values = slices.Compact(values)
	return Redactor{held: func() []string { return values }}
}

// Redact returns text without the secrets, also where they are encoded in one
// of the common ways as a whole.
func (r Redactor) Redact(text string) string {
	if r.held == nil {
		return text
	}
	for _, value := range r.held() {
		if len(value) > len(text) {
			continue
		}
		for _, form := range forms(value) {
			text = strings.ReplaceAll(text, form, hidden)
		}
	}
	return text
}

// forms returns value and its common encodings, the longest first.
func forms(value string) []string {
	b := []byte(value)
	quoted := strconv.Quote(value)
	all := []string{
		value,
		quoted[1 : len(quoted)-1],
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.StdEncoding.EncodeToString(b),
		base64.RawStdEncoding.EncodeToString(b),
		base64.URLEncoding.EncodeToString(b),
		base64.RawURLEncoding.EncodeToString(b),
		hex.EncodeToString(b),
		strings.ToUpper(hex.EncodeToString(b)),
	}
	if escaped, err := json.Marshal(value); err == nil {
		all = append(all, string(escaped[1:len(escaped)-1]))
	}
	slices.SortFunc(all, longest)
	return slices.Compact(all)
}

// longest orders texts, the longest first and equal ones next to each other.
func longest(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
}

// Format implements fmt.Formatter for all verbs.
func (r Redactor) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (r Redactor) LogValue() slog.Value { return slog.StringValue(hidden) }
