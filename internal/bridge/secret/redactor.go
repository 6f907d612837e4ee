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
	"log/slog" //nolint:depguard // Only for the type of LogValue: nothing is logged.
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minRedacted is the minimum length in bytes of a value that is redacted. A shorter value can be
// guessed within a few million attempts, and its redaction would damage ordinary words.
const minRedacted = 6

// Redactor removes secrets from texts. It survives a Wipe, because a server may still repeat
// previous secrets. The zero Redactor changes nothing.
type Redactor struct {
	held func() []string // a function, for the same reason as in Value
}

// Redactor returns a redactor of all values in the view.
func (v View) Redactor() Redactor {
	var values []string
	for _, value := range v.values {
		if text := strings.TrimSpace(value.Reveal()); len(text) >= minRedacted {
			values = append(values, text)
		}
	}
	// The longest first, so that a value within another leaves no remainder.
	slices.SortFunc(values, longest)
	return Redactor{held: func() []string { return values }}
}

// With returns a redactor that also removes these texts.
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

// Redact returns text without the secrets, including their common encodings.
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

// longest sorts the longest texts first, and equal texts next to each other.
func longest(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
}

// Format implements fmt.Formatter for all verbs.
func (r Redactor) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (r Redactor) LogValue() slog.Value { return slog.StringValue(hidden) }
