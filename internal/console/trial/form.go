// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

// The kinds of a field.
const (
	KindText    = "text"
	KindLong    = "long"
	KindWhole   = "whole"
	KindNumber  = "number"
	KindYes     = "yes"
	KindOneOf   = "oneof"
	KindJSON    = "json"
	maxFields   = 40
	fieldPrefix = "arg."
	// FieldAll is the field with all arguments as JSON, for a schema that is no form.
	FieldAll = "arguments"
)

// Field is an argument of a tool as a field of a form.
type Field struct {
	// Name is the argument, and ID the field's name in the form.
	Name, ID          string
	Kind, Description string
	Required          bool
	// Options are what the argument may be.
	Options []string
	// Accepted says in words what the field takes.
	Accepted string
	// Value is what was entered, and Error what is wrong with it.
	Value, Error string

	minimum, maximum *float64
	minLength        int
	maxLength        *int
	// encoded are the options as JSON.
	encoded [][]byte
}

// property is what is read of an argument's schema.
type property struct {
	Type        any      `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []any    `json:"enum"`
	Default     any      `json:"default"`
	Minimum     *float64 `json:"minimum"`
	Maximum     *float64 `json:"maximum"`
	MinLength   int      `json:"minLength"`
	MaxLength   *int     `json:"maxLength"`
}

// Fields returns the fields of a tool's schema in its order, and false for a schema that
// is too much for a form: then all arguments are one field of JSON.
func Fields(schema json.RawMessage) ([]Field, bool) {
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		OneOf      []json.RawMessage          `json:"oneOf"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		AllOf      []json.RawMessage          `json:"allOf"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || len(s.Properties) > maxFields {
		return nil, false
	}
	fields := []Field{}
	for _, name := range order(schema, s.Properties) {
		var p property
		if json.Unmarshal(s.Properties[name], &p) != nil {
			p = property{} // A boolean schema, or one with other types: any JSON.
		}
		f := fieldOf(name, p)
		f.Required = slices.Contains(s.Required, name)
		fields = append(fields, f)
	}
	return fields, true
}

// order returns the names of properties, the way the schema has them. A schema that names
// something twice has no order that two readers agree on.
func order(schema json.RawMessage, properties map[string]json.RawMessage) []string {
	if doc, err := jsondoc.Parse(schema); err == nil {
		of, _ := doc.Get("properties")
		names := make([]string, 0, len(of.Members))
		for _, m := range of.Members {
			names = append(names, m.Name)
		}
		return names
	}
	return slices.Sorted(maps.Keys(properties))
}

// fieldOf returns the field of an argument.
func fieldOf(name string, p property) Field {
	f := Field{Name: name, ID: fieldPrefix + name, Description: p.Description, minimum: p.Minimum, maximum: p.Maximum, minLength: p.MinLength, maxLength: p.MaxLength}
	f.Kind = kindOf(p)
	switch f.Kind {
	case KindOneOf:
		for _, option := range p.Enum {
			encoded := jsondoc.EncodeExact(option) // It was decoded from JSON.
			text, isText := option.(string)
			if !isText {
				text = string(encoded)
			}
			f.Options, f.encoded = append(f.Options, text), append(f.encoded, encoded)
		}
	case KindText:
		if p.MaxLength == nil || *p.MaxLength > 200 {
			f.Kind = KindLong
		}
	}
	f.Accepted = f.accepted(p.Default)
	return f
}

func kindOf(p property) string {
	if len(p.Enum) > 0 && len(p.Enum) <= 200 {
		return KindOneOf
	}
	switch p.Type {
	case "string":
		return KindText
	case "integer":
		return KindWhole
	case "number":
		return KindNumber
	case "boolean":
		return KindYes
	}
	return KindJSON
}

// accepted says in words what the field takes.
func (f *Field) accepted(preset any) string {
	var text string
	switch f.Kind {
	case KindWhole:
		text = "A whole number" + f.between()
	case KindNumber:
		text = "A number" + f.between()
	case KindOneOf:
		text = "One of these"
	case KindJSON:
		text = `JSON, such as ["a", "b"] or {"a": 1}`
	case KindYes:
		return ""
	default:
		text = "Text"
		if f.maxLength != nil {
			text += fmt.Sprintf(" of at most %d characters", *f.maxLength)
		}
	}
	if preset != nil {
		text += ". If left empty, the server takes " + pages.Visible(string(jsondoc.EncodeExact(preset)), pages.NameLength)
	}
	return text + "."
}

func (f *Field) between() string {
	number := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	switch {
	case f.minimum != nil && f.maximum != nil:
		return " from " + number(f.minimum) + " to " + number(f.maximum)
	case f.minimum != nil:
		return ", " + number(f.minimum) + " or more"
	case f.maximum != nil:
		return ", " + number(f.maximum) + " or less"
	}
	return ""
}

// Arguments returns the arguments of a form, and whether all fields are right. It leaves in
// the fields what was entered, and what is wrong with it.
func Arguments(fields []Field, form url.Values) (json.RawMessage, bool) {
	right := true
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range fields {
		f := &fields[i]
		f.Value = strings.ReplaceAll(form.Get(f.ID), "\r\n", "\n")
		value, why := f.read()
		if f.Error = why; why != "" {
			right = false
		}
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(append(append(quoted(f.Name), ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), right
}

// read returns the value of a field as JSON, nil where it is left out, and what is wrong
// with it.
func (f *Field) read() (value []byte, why string) {
	switch {
	case f.Kind == KindYes:
		return f.readYes(), ""
	case f.Value == "" && f.Required:
		return nil, "Enter a value: the tool needs it. " + f.Accepted
	case f.Value == "":
		return nil, ""
	}
	switch f.Kind {
	case KindWhole, KindNumber:
		return f.readNumber()
	case KindOneOf:
		return f.readOption()
	case KindJSON:
		if !json.Valid([]byte(f.Value)) {
			return nil, "Enter " + f.Accepted
		}
		return []byte(f.Value), ""
	default:
		return f.readText()
	}
}

func (f *Field) readYes() []byte {
	switch {
	case f.Value != "":
		return []byte("true")
	case f.Required:
		return []byte("false")
	}
	return nil
}

func (f *Field) readOption() (value []byte, why string) {
	at := slices.Index(f.Options, f.Value)
	if at < 0 {
		return nil, "Choose one of the values in the list."
	}
	return f.encoded[at], ""
}

func (f *Field) readText() (value []byte, why string) {
	if n := len([]rune(f.Value)); n < f.minLength || f.maxLength != nil && n > *f.maxLength {
		return nil, fmt.Sprintf("The text has %d characters. %s", n, f.Accepted)
	}
	return quoted(f.Value), ""
}

// quoted returns a text as JSON.
func quoted(text string) []byte { return jsondoc.EncodeExact(text) }

func (f *Field) readNumber() (value []byte, why string) {
	text := strings.TrimSpace(f.Value)
	n, err := strconv.ParseFloat(text, 64)
	whole := f.Kind != KindWhole || n == math.Trunc(n)
	inside := (f.minimum == nil || n >= *f.minimum) && (f.maximum == nil || n <= *f.maximum)
	if err != nil || !whole || !inside || !json.Valid([]byte(text)) {
		return nil, "Enter " + strings.ToLower(f.Accepted[:1]) + f.Accepted[1:]
	}
	return []byte(text), ""
}

// Object returns what was entered as all arguments, and what is wrong with it.
func Object(text string) (arguments json.RawMessage, why string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}"), ""
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, `Enter a JSON object, such as {"query": "report", "limit": 10}.`
	}
	return json.RawMessage(text), ""
}
