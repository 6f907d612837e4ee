// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Path is where, such as transports[0].url; empty for the whole document.
	Path    string
	Message string
	// Unknown says that the path is one that the reader does not know, and no
	// more is wrong with it.
	Unknown bool
}

// String returns the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Ordered is an object whose members keep their order.
type Ordered[T any] []Entry[T]

// Entry is one member of an Ordered.
type Entry[T any] struct {
	Name  string
	Value T
}

func (Ordered[T]) ordered() {}

// Get returns the member of this name.
func (o Ordered[T]) Get(name string) (T, bool) {
	for _, e := range o {
		if e.Name == name {
			return e.Value, true
		}
	}
	var none T
	return none, false
}

// MarshalJSON implements json.Marshaler.
func (o Ordered[T]) MarshalJSON() ([]byte, error) {
	v := Value{Kind: Object}
	for _, e := range o {
		value, err := Encode(e.Value)
		if err != nil {
			return nil, err
		}
		v.Members = append(v.Members, Member{e.Name, value})
	}
	return v.MarshalJSON()
}

// Encode returns what v is as JSON.
func Encode(v any) (Value, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Value{}, err
	}
	return Parse(b)
}

// Decode stores v in what into points to, by the json tags of its fields, and
// returns all that does not fit. What fits is stored all the same.
func Decode(v Value, into any) []Problem {
	var d decoder
	d.decode("", v, reflect.ValueOf(into).Elem())
	return d.problems
}

type decoder struct {
	problems []Problem
}

func (d *decoder) wrong(path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

var (
	valueType       = reflect.TypeFor[Value]()
	orderedType     = reflect.TypeFor[interface{ ordered() }]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func (d *decoder) decode(path string, v Value, target reflect.Value) {
	t := target.Type()
	switch {
	case t == valueType:
		target.Set(reflect.ValueOf(v))
	case v.Kind == Null:
		// As encoding/json has it: nothing was said.
	case t.Kind() == reflect.Pointer:
		target.Set(reflect.New(t.Elem()))
		d.decode(path, v, target.Elem())
	case reflect.PointerTo(t).Implements(unmarshalerType):
		u, _ := reflect.TypeAssert[json.Unmarshaler](target.Addr())
		if err := u.UnmarshalJSON(v.append(nil)); err != nil {
			d.wrong(path, "%v", err)
		}
	case t.Implements(orderedType):
		d.decodeOrdered(path, v, target)
	default:
		d.decodeKind(path, v, target)
	}
}

// kinds are the JSON types that a Go type is written as.
var kinds = map[reflect.Kind]Kind{
	reflect.String: String, reflect.Bool: Bool, reflect.Int: Number, reflect.Float64: Number,
	reflect.Slice: Array, reflect.Map: Object, reflect.Struct: Object,
}

func (d *decoder) decodeKind(path string, v Value, target reflect.Value) {
	if want := kinds[target.Kind()]; want != v.Kind {
		d.wrong(path, "must be %s, not %s", want, v.Kind)
		return
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(v.Text)
	case reflect.Bool:
		target.SetBool(v.Text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(v.Text)
		if err != nil {
			d.wrong(path, "must be a whole number")
			return
		}
		target.SetInt(int64(n))
	case reflect.Float64:
		f, _ := strconv.ParseFloat(v.Text, 64) // Parse has read it.
		target.SetFloat(f)
	case reflect.Slice:
		d.decodeSlice(path, v, target)
	case reflect.Map:
		d.decodeMap(path, v, target)
	default:
		d.decodeStruct(path, v, target)
	}
}

func (d *decoder) decodeSlice(path string, v Value, target reflect.Value) {
	target.Set(reflect.MakeSlice(target.Type(), len(v.Items), len(v.Items)))
	for i, item := range v.Items {
		d.decode(fmt.Sprintf("%s[%d]", path, i), item, target.Index(i))
	}
}

func (d *decoder) decodeMap(path string, v Value, target reflect.Value) {
	target.Set(reflect.MakeMapWithSize(target.Type(), len(v.Members)))
	for _, m := range v.Members {
		value := reflect.New(target.Type().Elem()).Elem()
		d.decode(join(path, m.Name), m.Value, value)
		target.SetMapIndex(reflect.ValueOf(m.Name).Convert(target.Type().Key()), value)
	}
}

func (d *decoder) decodeOrdered(path string, v Value, target reflect.Value) {
	if v.Kind != Object {
		d.wrong(path, "must be %s, not %s", Object, v.Kind)
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(v.Members), len(v.Members)))
	for i, m := range v.Members {
		entry := target.Index(i)
		entry.Field(0).SetString(m.Name)
		d.decode(join(path, m.Name), m.Value, entry.Field(1))
	}
}

func (d *decoder) decodeStruct(path string, v Value, target reflect.Value) {
	fields := fieldsOf(target)
	for _, m := range v.Members {
		field, known := fields[m.Name]
		if !known {
			d.problems = append(d.problems, Problem{Path: join(path, m.Name), Message: "unknown field", Unknown: true})
			continue
		}
		d.decode(join(path, m.Name), m.Value, field)
	}
}

// fieldsOf returns a struct's fields by their names in JSON, those of embedded
// structs with them.
func fieldsOf(target reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		f := target.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(target.Field(i)))
		case name != "" && name != "-":
			fields[name] = target.Field(i)
		}
	}
	return fields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
