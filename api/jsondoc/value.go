// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsondoc parses foreign JSON into a tree that keeps the order of members. It refuses
// duplicate names in an object and compares names exactly, so that two parsers cannot read a text
// differently: the signed document is the document that is used.
//
// The package is pure and uses only the standard library.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strconv"
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

// String returns the kind's name for messages.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one JSON value.
type Value struct {
	Kind Kind
	// Text is the content of a string, the original spelling of a number, or true or false.
	Text string
	// Items are the items of an array.
	Items []Value
	// Members are the members of an object, in their original order.
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// maxDepth limits the nesting: documents written by people have a few levels, and parsers recurse.
const maxDepth = 64

var (
	errDepth     = fmt.Errorf("is nested deeper than %d levels", maxDepth)
	errSurrogate = errors.New("holds half of a character (an unpaired surrogate)")
	errUTF8      = errors.New("is not UTF-8")
)

// Text returns a string value.
func Text(s string) Value { return Value{Kind: String, Text: s} }

// Parse parses one value. In addition to invalid JSON, it refuses duplicate names in an object,
// invalid UTF-8 and numbers that do not fit into a double. Its errors contain names but no values.
func Parse(b []byte) (Value, error) {
	if !utf8.Valid(b) {
		return Value{}, errUTF8
	}
	if !json.Valid(b) {
		return Value{}, syntax(b)
	}
	// The only valid JSON in UTF-8 that is refused here has unpaired surrogates.
	if !jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true)) {
		return Value{}, errSurrogate
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return parse(d, 0)
}

// syntax returns the syntax error of a text, with its line.
func syntax(b []byte) error {
	var v any
	err := json.Unmarshal(b, &v)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(b[:min(int(s.Offset), len(b))], []byte{'\n'})
		return fmt.Errorf("line %d: %w", line, err)
	}
	return errors.New("is not JSON")
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
		name, _ := token.(string) // in valid JSON, every name is a string
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

// With returns a copy of an object with the member name set to value. A new member is added at the
// end. Null becomes an object.
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

// MarshalJSON implements json.Marshaler. It keeps the order of members and the spelling of
// numbers.
func (v Value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

func (v Value) append(b []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(b, v.Text...)
	case String:
		return append(b, EncodeExact(v.Text)...)
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
			b = append(append(b, EncodeExact(m.Name)...), ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

// Indented returns the value as a file for people, with a line break at its end.
func (v Value) Indented() []byte {
	var b bytes.Buffer
	_ = json.Indent(&b, v.append(nil), "", "  ") // the output of append is valid
	b.WriteByte('\n')
	return b.Bytes()
}
