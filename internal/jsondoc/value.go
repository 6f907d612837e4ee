// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsondoc reads JSON that others wrote as a tree that keeps the order of
// members. No name may stand twice in an object and names are compared exactly,
// so that two readers of a text cannot understand different things by it: what
// was signed is what is used.
//
// The package is pure and uses the standard library alone.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a value.
type Kind int

// The kinds. The zero Kind is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind as messages name it.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one JSON value.
type Value struct {
	Kind Kind
	// Text is a string's content, a number as it was written, or true or false.
	Text string
	// Items are an array's.
	Items []Value
	// Members are an object's, in the order in which they were written.
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// maxDepth bounds nesting: documents that people write have a few levels, and
// readers recurse.
const maxDepth = 64

var (
	errDepth     = fmt.Errorf("is nested deeper than %d levels", maxDepth)
	errSurrogate = errors.New("holds half of a character (an unpaired surrogate)")
	errUTF8      = errors.New("is not UTF-8")
	errTrailing  = errors.New("goes on after the value")
)

// Text returns a string value.
func Text(s string) Value { return Value{Kind: String, Text: s} }

// Parse reads one value. Beyond what JSON forbids it refuses names that stand
// twice in an object, texts that are not UTF-8 and numbers that no double holds.
// Its errors quote names and no values.
func Parse(b []byte) (Value, error) {
	if !utf8.Valid(b) {
		return Value{}, errUTF8
	}
	if !json.Valid(b) {
		return Value{}, syntax(b)
	}
	if !paired(b) {
		return Value{}, errSurrogate
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parse(d, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errTrailing
	}
	return v, nil
}

// syntax returns what is wrong with a text, with the line.
func syntax(b []byte) error {
	var v any
	err := json.Unmarshal(b, &v)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(b[:min(int(s.Offset), len(b))], []byte{'\n'})
		return fmt.Errorf("line %d: %w", line, err)
	}
	return errors.New("is not JSON")
}

// paired reports whether every surrogate that is escaped in valid JSON is half
// of a pair.
func paired(b []byte) bool {
	for at := 0; at < len(b); at++ {
		if b[at] != '\\' {
			continue
		}
		at++
		if b[at] != 'u' {
			continue
		}
		first := unit(b[at+1:])
		at += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		rest := b[at+1:]
		if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(first, unit(rest[2:])) == utf8.RuneError {
			return false
		}
		at += 6
	}
	return true
}

// unit reads the four hexadecimal digits at the beginning of b.
func unit(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 16) // json.Valid has seen the digits.
	return rune(n)
}

func parse(d *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, errDepth
	}
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return parseArray(d, depth)
		}
		return parseObject(d, depth)
	case string:
		return Text(t), nil
	case json.Number:
		if _, err := t.Float64(); err != nil {
			return Value{}, errors.New("holds a number that is out of range")
		}
		return Value{Kind: Number, Text: t.String()}, nil
	case bool:
		return Value{Kind: Bool, Text: strconv.FormatBool(t)}, nil
	default:
		return Value{}, nil
	}
}

func parseArray(d *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: Array}
	for d.More() {
		item, err := parse(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	_, err := d.Token()
	return v, err
}

func parseObject(d *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: Object}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := token.(string) // valid JSON has no other names
		if seen[name] {
			return Value{}, fmt.Errorf("has the name %.80q twice in one object", name)
		}
		seen[name] = true
		value, err := parse(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Members = append(v.Members, Member{name, value})
	}
	_, err := d.Token()
	return v, err
}

// Get returns the member of this name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// With returns a copy of an object in which the member of this name is value:
// in its place where there is one, else at the end. Null becomes an object.
func (v Value) With(name string, value Value) Value {
	members := make([]Member, 0, len(v.Members)+1)
	found := false
	for _, m := range v.Members {
		if m.Name == name {
			m.Value, found = value, true
		}
		members = append(members, m)
	}
	if !found {
		members = append(members, Member{name, value})
	}
	return Value{Kind: Object, Members: members}
}

// MarshalJSON implements json.Marshaler. Members keep their order and numbers
// their spelling.
func (v Value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

func (v Value) append(b []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(b, v.Text...)
	case String:
		return append(b, quote(v.Text)...)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quote(m.Name)...), ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

// quote returns a JSON string that reads well: what only HTML minds is not
// escaped.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Indented returns the value as a file that people read, with a line break at
// its end.
func (v Value) Indented() []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, v.append(nil), "", "  ") // what append writes is valid
	b.WriteByte('\n')
	return b.Bytes()
}
