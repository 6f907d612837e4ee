// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep arguments may be nested that are looked up; no
// tool's are nearly as deep.
const maxDepth = 64

var (
	errDepth     = errors.New("nested too deep")
	errAmbiguous = errors.New("a name that stands twice, or text that is not Unicode, means different things to different readers")
)

// Key joins parts so that different parts never give the same key. A key begins
// with that of its first parts.
func Key(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// Canonical returns the one way to write the JSON value that is v: names in
// order, no space, numbers by their exact value. Equal values give equal texts
// and different ones different. It fails on what is no single JSON value, or
// one that not all readers understand alike. Nothing is an empty object: a call
// without arguments is one with none.
func Canonical(v []byte) (string, error) {
	if len(bytes.TrimSpace(v)) == 0 {
		return "{}", nil
	}
	if !utf8.Valid(v) {
		return "", errAmbiguous
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var out strings.Builder
	if err := canonical(d, &out, 0); err != nil {
		return "", fmt.Errorf("canonical JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("canonical JSON: data after the value")
	}
	return out.String(), nil
}

func canonical(d *json.Decoder, out *strings.Builder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return errDepth
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return canonicalObject(d, out, depth)
		}
		return canonicalArray(d, out, depth)
	case string:
		return canonicalString(t, out)
	case json.Number:
		text, err := canonicalNumber(t.String())
		out.WriteString(text)
		return err
	case bool:
		out.WriteString(strconv.FormatBool(t))
	default:
		out.WriteString("null")
	}
	return nil
}

func canonicalObject(d *json.Decoder, out *strings.Builder, depth int) error {
	values := map[string]string{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if _, twice := values[name]; !ok || twice {
			return errAmbiguous
		}
		var value strings.Builder
		if err := canonical(d, &value, depth+1); err != nil {
			return err
		}
		values[name] = value.String()
	}
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := canonicalString(name, out); err != nil {
			return err
		}
		out.WriteByte(':')
		out.WriteString(values[name])
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err
}

func canonicalArray(d *json.Decoder, out *strings.Builder, depth int) error {
	out.WriteByte('[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := canonical(d, out, depth+1); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := d.Token()
	return err
}

// canonicalString refuses U+FFFD, which stands for every half of a surrogate
// pair too.
func canonicalString(s string, out *strings.Builder) error {
	if strings.ContainsRune(s, utf8.RuneError) {
		return errAmbiguous
	}
	b, err := json.Marshal(s)
	out.Write(b)
	return err
}

// canonicalNumber returns a JSON number as its digits without zeros at either
// end, and the power of ten that they are multiplied by. It rounds nothing.
func canonicalNumber(s string) (string, error) {
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
