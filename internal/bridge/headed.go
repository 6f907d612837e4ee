// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/exact"
)

// headerName is an HTTP field name (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// schema is what of a tool's input schema concerns headers.
type schema struct {
	Type       string            `json:"type"`
	Header     json.RawMessage   `json:"x-mcp-header"`
	Properties map[string]schema `json:"properties"`
}

// headedTool returns the tool of e for the SDK if it repeats arguments in
// headers. It reports false also for a schema that the SDK would refuse.
func headedTool(e entry) (*mcp.Tool, bool) {
	if !bytes.Contains(e.raw, []byte(`"x-mcp-header"`)) {
		return nil, false
	}
	var t struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(e.raw, &t) != nil {
		return nil, false
	}
	var s schema
	if json.Unmarshal(t.InputSchema, &s) != nil || s.Type != "object" {
		return nil, false
	}
	if !validHeaders(s.Properties, map[string]bool{}) {
		return nil, false
	}
	return &mcp.Tool{Name: e.key, InputSchema: t.InputSchema}, true
}

// validHeaders reports whether the annotations are those that the protocol
// allows: unique header names on plain values.
func validHeaders(properties map[string]schema, seen map[string]bool) bool {
	for _, p := range properties {
		if p.Header != nil {
			var name string
			if json.Unmarshal(p.Header, &name) != nil || !headerName.MatchString(name) {
				return false
			}
			if p.Type != "string" && p.Type != "integer" && p.Type != "boolean" {
				return false
			}
			if seen[strings.ToLower(name)] {
				return false
			}
			seen[strings.ToLower(name)] = true
		}
		if !validHeaders(p.Properties, seen) {
			return false
		}
	}
	return true
}

// headersOf returns the headers in which a call of the tool repeats arguments, as
// a client that knows the tool would send them.
func headersOf(tool, arguments json.RawMessage) map[string]string {
	t, ok := headedTool(entry{raw: tool})
	if !ok {
		return nil
	}
	var s schema
	raw, isRaw := t.InputSchema.(json.RawMessage)
	if !isRaw || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	headers := map[string]string{}
	s.repeat(arguments, headers)
	return headers
}

// repeat adds the headers of the properties of s.
func (s schema) repeat(object json.RawMessage, headers map[string]string) {
	var values map[string]json.RawMessage
	if json.Unmarshal(object, &values) != nil {
		return
	}
	for name, p := range s.Properties {
		value, given := values[name]
		if !given {
			continue
		}
		var header string
		if json.Unmarshal(p.Header, &header) == nil && header != "" {
			if text, ok := headerValue(value); ok {
				headers["Mcp-Param-"+header] = text
			}
		}
		p.repeat(value, headers)
	}
}

// headerValue returns a plain value as the protocol writes it into a header.
func headerValue(value json.RawMessage) (string, bool) {
	var plain any
	if exact.Decode(value, &plain) != nil {
		return "", false
	}
	switch v := plain.(type) {
	case string:
		return encodeHeader(v), true
	case bool, json.Number:
		return fmt.Sprint(v), true
	}
	return "", false
}

// encodeHeader returns the text, in Base64 where a header could not hold it or
// where it looks as if it were that already.
func encodeHeader(text string) string {
	const begin, end = "=?base64?", "?="
	encoded := strings.HasPrefix(text, begin) && strings.HasSuffix(text, end)
	strange := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if encoded || strange || strings.Trim(text, " ") != text {
		return begin + base64.StdEncoding.EncodeToString([]byte(text)) + end
	}
	return text
}
