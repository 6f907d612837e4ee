// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondoc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Ordered is an object that keeps the order of its members.
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

// Encode returns v as JSON.
func Encode(v any) (Value, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Value{}, err
	}
	return Parse(b)
}

// Decode stores v in the value that into points to, by the json tags of its fields, and returns
// the problems, as far as Problems keeps them. Parts without problems are stored in any case.
func Decode(v Value, into any) []Problem {
	var d decoder
	d.decode(v, reflect.ValueOf(into).Elem())
	return d.problems.List()
}

type decoder struct {
	problems Problems
	// path is the path of the current value.
	path []byte
}

func (d *decoder) wrong(message string) {
	d.problems.Add(Problem{Path: d.where(), Message: message})
}

// wrongKind does nothing for problems that are only counted: there may be one for each item of an
// array.
func (d *decoder) wrongKind(want, got Kind) {
	p := Problem{More: 1}
	if d.problems.room(false) {
		p = Problem{Path: d.where(), Message: fmt.Sprintf("must be %s, not %s", want, got)}
	}
	d.problems.Add(p)
}

func (d *decoder) unknown(name string) {
	p := Problem{Unknown: true, More: 1}
	if d.problems.room(true) {
		before := d.enter(name)
		p = Problem{Path: d.where(), Message: "unknown field", Unknown: true}
		d.path = d.path[:before]
	}
	d.problems.Add(p)
}

// where returns as much of the path as a problem keeps, plus one byte if it is longer.
func (d *decoder) where() string { return string(d.path[:min(len(d.path), maxText+1)]) }

// enter appends a member to the path, and returns the previous length of the path.
func (d *decoder) enter(name string) int {
	before := len(d.path)
	if before > 0 {
		d.path = append(d.path, '.')
	}
	d.path = append(d.path, name...)
	return before
}

func (d *decoder) member(m Member, target reflect.Value) {
	before := d.enter(m.Name)
	d.decode(m.Value, target)
	d.path = d.path[:before]
}

var (
	valueType       = reflect.TypeFor[Value]()
	orderedType     = reflect.TypeFor[interface{ ordered() }]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func (d *decoder) decode(v Value, target reflect.Value) {
	t := target.Type()
	switch {
	case t == valueType:
		target.Set(reflect.ValueOf(v))
	case v.Kind == Null:
		// As in encoding/json, null leaves it unset.
	case t.Kind() == reflect.Pointer:
		target.Set(reflect.New(t.Elem()))
		d.decode(v, target.Elem())
	case reflect.PointerTo(t).Implements(unmarshalerType):
		u, _ := reflect.TypeAssert[json.Unmarshaler](target.Addr())
		if err := u.UnmarshalJSON(v.append(nil)); err != nil {
			d.wrong(err.Error())
		}
	case t.Implements(orderedType):
		d.decodeOrdered(v, target)
	default:
		d.decodeKind(v, target)
	}
}

// kinds maps Go types to their JSON types.
var kinds = map[reflect.Kind]Kind{
	reflect.String: String, reflect.Bool: Bool, reflect.Int: Number, reflect.Float64: Number,
	reflect.Slice: Array, reflect.Map: Object, reflect.Struct: Object,
}

func (d *decoder) decodeKind(v Value, target reflect.Value) {
	if want := kinds[target.Kind()]; want != v.Kind {
		d.wrongKind(want, v.Kind)
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
			d.wrong("must be a whole number")
			return
		}
		target.SetInt(int64(n))
	case reflect.Float64:
		f, _ := strconv.ParseFloat(v.Text, 64) // Parse has checked it.
		target.SetFloat(f)
	case reflect.Slice:
		d.decodeSlice(v, target)
	case reflect.Map:
		d.decodeMap(v, target)
	default:
		d.decodeStruct(v, target)
	}
}

func (d *decoder) decodeSlice(v Value, target reflect.Value) {
	target.Set(reflect.MakeSlice(target.Type(), len(v.Items), len(v.Items)))
	for i, item := range v.Items {
		before := len(d.path)
		d.path = append(strconv.AppendInt(append(d.path, '['), int64(i), 10), ']')
		d.decode(item, target.Index(i))
		d.path = d.path[:before]
	}
}

func (d *decoder) decodeMap(v Value, target reflect.Value) {
	target.Set(reflect.MakeMapWithSize(target.Type(), len(v.Members)))
	for _, m := range v.Members {
		value := reflect.New(target.Type().Elem()).Elem()
		d.member(m, value)
		target.SetMapIndex(reflect.ValueOf(m.Name).Convert(target.Type().Key()), value)
	}
}

func (d *decoder) decodeOrdered(v Value, target reflect.Value) {
	if v.Kind != Object {
		d.wrongKind(Object, v.Kind)
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(v.Members), len(v.Members)))
	for i, m := range v.Members {
		entry := target.Index(i)
		entry.Field(0).SetString(m.Name)
		d.member(m, entry.Field(1))
	}
}

func (d *decoder) decodeStruct(v Value, target reflect.Value) {
	fields := fieldsOf(target.Type())
	for _, m := range v.Members {
		if index, known := fields[m.Name]; known {
			d.member(m, target.FieldByIndex(index))
		} else {
			d.unknown(m.Name)
		}
	}
}

// structs caches the result of fieldsOf for each type: an array may contain very many structs.
var structs sync.Map

// fieldsOf maps the JSON names of a struct's fields, including those of embedded structs, to their
// indexes.
func fieldsOf(t reflect.Type) map[string][]int {
	if found, ok := structs.Load(t); ok {
		fields, _ := found.(map[string][]int)
		return fields
	}
	fields := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for inner, index := range fieldsOf(f.Type) {
				fields[inner] = append([]int{i}, index...)
			}
		case name != "" && name != "-":
			fields[name] = []int{i}
		}
	}
	structs.Store(t, fields)
	return fields
}
