// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"encoding/json"
	"fmt"
)

// MaxAnswer is the maximum size of a server's message in bytes. It is the MCP SDK's own limit on a
// message, 16 MiB.
const MaxAnswer = 16 << 20

// CodeAnswerTooLarge is the error's data.code.
const CodeAnswerTooLarge = "answer_too_large"

// maxToken limits the stored bytes of a name or an id. The ids of the bridge are counters.
const maxToken = 64

// Oversize reads one JSON-RPC message in pieces, and stores only the fields that identify it. The
// zero Message has read nothing.
type Oversize struct {
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
func (m *Oversize) Write(p []byte) (int, error) {
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

// keep stores a character of a field's name or value.
func (m *Oversize) keep(c byte) {
	if m.value {
		if len(m.token) < maxToken {
			m.token = append(m.token, c)
		}
	} else if len(m.name) < maxToken {
		m.name = append(m.name, c)
	}
}

// string reads to the end of a string.
func (m *Oversize) string(c byte) {
	switch {
	case m.escaped:
		m.escaped = false
	case c == '\\':
		m.escaped = true
	case c == '"':
		m.quoted = false
	}
}

// plain reads characters outside of strings.
func (m *Oversize) plain(c byte) {
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

// field stores a completed field of the message.
func (m *Oversize) field() {
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

// ID returns the id of the message as it was sent, nil if it has none.
func (m *Oversize) ID() json.RawMessage {
	var id any
	if json.Unmarshal(m.id, &id) != nil || id == nil {
		return nil
	}
	return m.id
}

// Answer returns a JSON-RPC error that replaces the answer that was read, or nil if the message
// was not an answer. limit is the size in bytes that it exceeded.
func (m *Oversize) Answer(limit int) []byte {
	return m.Refusal(fmt.Sprintf("the server's answer is larger than %d MiB", limit>>20), fmt.Sprintf(`{"code":%q}`, CodeAnswerTooLarge))
}

// Refusal returns a JSON-RPC error with this text and data that replaces the answer that was read,
// or nil if the message was not an answer.
func (m *Oversize) Refusal(text, data string) []byte {
	id := m.ID()
	if m.request || id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q,"data":%s}}`, id, text, data)
}
