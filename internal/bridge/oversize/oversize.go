// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oversize answers for a server whose answer is too large to be taken:
// it finds out of a message that nobody keeps which request it answers, so that
// this request fails and no other.
//
// The package is pure.
package oversize

import (
	"encoding/json"
	"fmt"
)

// Limit is the size above which a message of a server is not taken, in bytes. It
// is the MCP SDK's own bound on a message, 16 MiB.
const Limit = 16 << 20

// Code is the error's data.code.
const Code = "answer_too_large"

// maxToken bounds what is kept of a name or an id, in bytes. The SDK's ids are
// counters.
const maxToken = 64

// Message reads one JSON-RPC message, piece by piece, and keeps of it what tells
// what it is. The zero Message has read nothing.
type Message struct {
	depth   int
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	value   bool // after the colon of a field of the message
	name    []byte
	token   []byte
	id      []byte
	request bool
}

// Write implements io.Writer and never fails.
func (m *Message) Write(p []byte) (int, error) {
	for _, c := range p {
		if m.depth == 1 && (m.quoted || c != ',' && c != '}' && c != ':') {
			m.keep(c)
		}
		if m.quoted {
			m.string(c)
			continue
		}
		m.plain(c)
	}
	return len(p), nil
}

// keep notes a character of a field's name or of its value.
func (m *Message) keep(c byte) {
	if m.value {
		if len(m.token) < maxToken {
			m.token = append(m.token, c)
		}
	} else if len(m.name) < maxToken {
		m.name = append(m.name, c)
	}
}

// string follows a string to its end.
func (m *Message) string(c byte) {
	switch {
	case m.escaped:
		m.escaped = false
	case c == '\\':
		m.escaped = true
	case c == '"':
		m.quoted = false
	}
}

// plain follows what is not within a string.
func (m *Message) plain(c byte) {
	switch c {
	case '"':
		m.quoted = true
	case '{', '[':
		m.depth++
	case '}', ']':
		if m.depth == 1 {
			m.field()
		}
		m.depth--
	case ':':
		m.value = m.value || m.depth == 1
	case ',':
		if m.depth == 1 {
			m.field()
		}
	}
}

// field takes over a field of the message that has ended.
func (m *Message) field() {
	var name string
	if json.Unmarshal(m.name, &name) == nil {
		switch name {
		case "id":
			m.id = append([]byte(nil), m.token...)
		case "method":
			m.request = true
		}
	}
	m.name, m.token, m.value = m.name[:0], m.token[:0], false
}

// Answer returns the error, as a JSON-RPC message, that takes the place of the
// answer that was read. It returns nil where that was no answer.
func (m *Message) Answer() []byte {
	var id any
	if m.request || json.Unmarshal(m.id, &id) != nil || id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the server's answer is larger than %d MiB","data":{"code":%q}}}`,
		m.id, Limit>>20, Code)
}
