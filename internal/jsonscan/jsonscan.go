// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonscan finds the parts of a JSON text without decoding or copying them. Use it for
// messages of which only a few members are needed.
//
// Unlike package jsondoc it accepts duplicate names and invalid UTF-8: its callers decide what to
// refuse. It reads a text that is cut off, or invalid from some point on, up to that point.
//
// The package is pure and uses only the standard library.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"io"
	"iter"
	"sync"
)

// Reader reads a text once, from its beginning to its end. Each method except Close concerns the
// next value, and each value can be read at most once.
type Reader struct {
	text    []byte
	buffer  bytes.Buffer
	decoder jsontext.Decoder
}

// readers are reused: a reader is larger than most messages.
var readers = sync.Pool{New: func() any { return new(Reader) }}

// lax are decoder options that refuse no more than encoding/json does.
var lax = [...]jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Open returns a reader of the text. Its methods return parts of the text.
func Open(text []byte) *Reader {
	r, _ := readers.Get().(*Reader)
	r.text = text
	r.buffer = *bytes.NewBuffer(text) // The decoder uses a buffer's bytes in place.
	r.decoder.Reset(&r.buffer, lax[:]...)
	return r
}

// Close ends the use of the reader.
func (r *Reader) Close() { readers.Put(r) }

// IsObject reports whether the value is an object.
func (r *Reader) IsObject() bool { return r.decoder.PeekKind() == jsontext.KindBeginObject }

// IsArray reports whether the value is an array.
func (r *Reader) IsArray() bool { return r.decoder.PeekKind() == jsontext.KindBeginArray }

// Members yields the names of an object's members in order. While it yields a name, the next value
// is the member's value. Other values have no members.
func (r *Reader) Members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !r.IsObject() || !r.step() {
			return
		}
		for depth := r.decoder.StackDepth(); r.decoder.PeekKind() == jsontext.KindString; {
			name, ok := r.read()
			start := r.decoder.InputOffset()
			if !ok || !r.begins() || !yield(decoded(name)) || !r.skip(start, depth) {
				return
			}
		}
		r.step()
	}
}

// Items yields the items of an array in order; each of them is the next value. Other values have
// no items.
func (r *Reader) Items() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !r.IsArray() || !r.step() {
			return
		}
		depth := r.decoder.StackDepth()
		for i := 0; r.begins(); i++ {
			start := r.decoder.InputOffset()
			if !yield(i) || !r.skip(start, depth) {
				return
			}
		}
		r.step()
	}
}

// Raw returns the value as it was written. If the text is cut off, it returns the existing part.
func (r *Reader) Raw() json.RawMessage {
	value, ok := r.read()
	if !ok {
		return bytes.TrimLeft(r.text[r.decoder.InputOffset():], " \t\r\n:,")
	}
	return value
}

// Text returns the content of a string. It is empty for other values.
func (r *Reader) Text() string { return Text(r.Raw()) }

// Valid reads to the end, and reports whether the text is exactly one JSON value.
func (r *Reader) Valid() bool {
	if !r.skip(0, 0) {
		return false
	}
	_, err := r.decoder.ReadToken()
	return errors.Is(err, io.EOF)
}

// read returns the next name or value, and false if it is incomplete.
func (r *Reader) read() ([]byte, bool) {
	value, err := r.decoder.ReadValue()
	if err != nil {
		return nil, false
	}
	end := r.decoder.InputOffset()
	return r.text[end-int64(len(value)) : end : end], true
}

// begins reports whether the object or array has another value.
func (r *Reader) begins() bool {
	switch r.decoder.PeekKind() {
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		return false
	}
	return true
}

// skip moves to the end of the value that starts at start, whether nothing, a part or all of it
// was read. depth is the depth of the enclosing object or array.
func (r *Reader) skip(start int64, depth int) bool {
	if r.decoder.InputOffset() == start {
		return r.decoder.SkipValue() == nil
	}
	for r.decoder.StackDepth() > depth {
		if !r.step() {
			return false
		}
	}
	return true
}

// step moves past one delimiter, name or scalar value.
func (r *Reader) step() bool {
	_, err := r.decoder.ReadToken()
	return err == nil
}

// Text returns the content of a JSON string. It is empty for other values.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if isPlain(value) {
		return string(value[1 : len(value)-1])
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// decoded returns the name of a member from its JSON string.
func decoded(name []byte) []byte {
	if isPlain(name) {
		return name[1 : len(name)-1]
	}
	return []byte(Text(name))
}

// isPlain reports whether a JSON string contains no escapes.
func isPlain(s []byte) bool {
	for _, b := range s {
		if b == '\\' || b >= 0x80 {
			return false
		}
	}
	return s[len(s)-1] == '"'
}
