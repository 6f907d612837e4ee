// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain reads the envelope of JSON-RPC messages that leave no doubt,
// and nothing of what is in it.
//
// Readers of JSON differ on what is odd: members that come twice, names in other
// letters or with escapes, numbers that no float holds. What is odd is not read
// here, so that whoever reads it thoroughly decides.
//
// The package is pure and uses the standard library alone.
package plain

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// maxDepth is how deep a message may be nested: as deep as the SDK reads it.
const maxDepth = 1000

// Message is one message, its parts as they stand in it. What it does not have
// is nil.
type Message struct {
	ID, Method, Params, Result json.RawMessage
}

// plainID is an id that all readers take for the same: an integer that a float
// holds, or a short text of plain letters.
var plainID = regexp.MustCompile(`^(?:0|-?[1-9][0-9]{0,14}|"[A-Za-z0-9_.:/+=-]{1,64}")$`)

// Parse returns the message that b is. It reports false for a batch, an error, a
// message without an id, and for all that is odd.
func Parse(b []byte) (m Message, ok bool) {
	if !json.Valid(b) {
		return Message{}, false
	}
	s := scanner{b: bytes.TrimRight(b, " \t\r\n")}
	var version json.RawMessage
	into := map[string]*json.RawMessage{
		"jsonrpc": &version, "id": &m.ID, "method": &m.Method, "params": &m.Params, "result": &m.Result,
	}
	for more := s.open(); more; more = s.next() {
		name, value, ok := s.member()
		part := into[string(name)]
		if !ok || part == nil || *part != nil {
			return Message{}, false
		}
		*part = value
	}
	return m, !s.odd && s.i == len(s.b) && string(version) == `"2.0"` && plainID.Match(m.ID)
}

// scanner goes through valid JSON. It need not look at what is between the parts
// that it looks for.
type scanner struct {
	b   []byte
	i   int
	odd bool
}

// space goes on to what is no white space.
func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// take reports whether c is next, and goes past it.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

// open goes into an object and reports whether there is a member in it.
func (s *scanner) open() bool {
	if !s.take('{') {
		s.odd = true
		return false
	}
	return !s.take('}')
}

// next goes to the next member and reports whether there is one.
func (s *scanner) next() bool {
	if s.take(',') {
		return true
	}
	s.odd = s.odd || !s.take('}')
	return false
}

// member returns a member's name and value. It reports false where the name is
// written with escapes, or the value nested too deep.
func (s *scanner) member() (name, value []byte, ok bool) {
	s.space()
	begin := s.i
	s.text()
	name = s.b[begin+1 : s.i-1]
	if bytes.IndexByte(name, '\\') >= 0 || !s.take(':') {
		return nil, nil, false
	}
	s.space()
	begin = s.i
	ok = s.value()
	return name, s.b[begin:s.i], ok
}

// text goes past a text.
func (s *scanner) text() {
	for s.i++; s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			s.i++
		}
	}
	s.i++
}

// value goes past a value, and reports whether it is not nested too deep.
func (s *scanner) value() bool {
	for depth := 1; s.i < len(s.b); {
		switch s.b[s.i] {
		case '"':
			s.text()
		case '{', '[':
			s.i++
			if depth++; depth > maxDepth {
				return false
			}
			continue
		case '}', ']':
			s.i++
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			s.i++
			continue
		default:
			s.plain()
		}
		if depth == 1 {
			return true
		}
	}
	return true
}

// plain goes past a number or a word.
func (s *scanner) plain() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', ':', '}', ']', ' ', '\t', '\r', '\n':
			return
		}
		s.i++
	}
}

// RequestID returns the id as a text or a float64, as which a reader of JSON
// has it.
func (m Message) RequestID() (id any, ok bool) {
	return id, json.Unmarshal(m.ID, &id) == nil
}
