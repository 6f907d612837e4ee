// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendCanonical appends v as JavaScript's JSON.stringify writes it (RFC 8785): with sorted keys
// and without spaces. Equal values have equal bytes.
func (v Value) AppendCanonical(b []byte) []byte {
	text := jsontext.Value(v.append(nil))
	if err := text.Canonicalize(); err != nil {
		panic(err) // Parse refuses values without a canonical form.
	}
	return append(b, text...)
}

// CanonicalExact returns the canonical form of the JSON value in text: names in order, no spaces,
// numbers by their exact value. Equal values have equal texts, different values have different
// texts. It fails on texts that are not a single JSON value, or that JSON parsers may read
// differently.
func CanonicalExact(text []byte) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out)
	for more := true; more; more = d.StackDepth() > 0 {
		if err := copyExact(e, d); err != nil {
			return "", fmt.Errorf("canonical JSON: %w", err)
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return "", errors.New("canonical JSON: data after the value")
	}
	// Other decoders replace invalid Unicode by this character.
	if bytes.ContainsRune(out.Bytes(), utf8.RuneError) {
		return "", errors.New("canonical JSON: text that may have been something else")
	}
	value := jsontext.Value(bytes.TrimSpace(out.Bytes()))
	err := value.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	return string(value), err
}

// copyExact copies one token. The decoder fails on duplicate names and invalid Unicode.
func copyExact(e *jsontext.Encoder, d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	depth := d.StackDepth()
	if kind := token.Kind(); kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
		depth-- // A delimiter belongs to the enclosing value.
	}
	if depth > maxDepth {
		return errDepth
	}
	if token.Kind() != jsontext.KindNumber {
		return e.WriteToken(token)
	}
	number, err := exactNumber(token.String())
	if err != nil {
		return err
	}
	return e.WriteValue(jsontext.Value(number))
}

// exactNumber returns a JSON number as its digits without zeros at either end, and a power of ten
// as factor. It never rounds.
func exactNumber(s string) (string, error) {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > 1e6 || exponent < -1e6 {
			return "", errors.New("a number too large to compare")
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0", nil
	}
	return sign + trimmed + "e" + strconv.Itoa(exponent), nil
}
