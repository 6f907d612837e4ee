// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// ParamHeaders returns the headers of h that repeat arguments of a tool. An intermediary passes
// them on even if it does not know the tool.
func ParamHeaders(h http.Header) http.Header {
	var found http.Header
	for name, values := range h {
		if strings.HasPrefix(name, "Mcp-Param-") {
			if found == nil {
				found = http.Header{}
			}
			found[name] = slices.Clone(values)
		}
	}
	return found
}

// headerName is an HTTP field name (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// A header's text is in Base64 between these.
const base64Begin, base64End = "=?base64?", "?="

// schema is what of a tool's input schema concerns headers.
type schema struct {
	Type       string            `json:"type"`
	Header     json.RawMessage   `json:"x-mcp-header"`
	Properties map[string]schema `json:"properties"`
}

// paramSchema returns the input schema of a tool that repeats arguments in
// headers. It reports false for another one, and for a schema that is not valid.
func paramSchema(tool json.RawMessage) (schema, bool) {
	if !bytes.Contains(tool, []byte(`"x-mcp-header"`)) {
		return schema{}, false
	}
	var t struct {
		InputSchema schema `json:"inputSchema"`
	}
	if json.Unmarshal(tool, &t) != nil {
		return schema{}, false
	}
	s := t.InputSchema
	return s, s.Type == "object" && validHeaders(s.Properties, map[string]bool{})
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

// HeadersOfCall returns the headers in which a call of the tool repeats arguments, as
// a client that knows the tool would send them.
func HeadersOfCall(tool, arguments json.RawMessage) map[string]string {
	s, ok := paramSchema(tool)
	if !ok {
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
	if jsondoc.DecodeExact(value, &plain) != nil {
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
	encoded := strings.HasPrefix(text, base64Begin) && strings.HasSuffix(text, base64End)
	strange := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if encoded || strange || strings.Trim(text, " ") != text {
		return base64Begin + base64.StdEncoding.EncodeToString([]byte(text)) + base64End
	}
	return text
}
