// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxSafe is the largest integer that every JSON parser reads exactly.
const maxSafe = 1<<53 - 1

// CompareParamHeaders returns an error if the headers of a call do not repeat the arguments that
// the tool's input schema requires in headers.
func CompareParamHeaders(tool, arguments json.RawMessage, header http.Header) error {
	if s, ok := paramSchema(tool); ok {
		return s.compare("", arguments, header)
	}
	return nil
}

// compare returns an error for the first header that differs from the argument of its property.
// path is the path of the object.
func (s schema) compare(path string, object json.RawMessage, header http.Header) error {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(object, &values) // A value that is not an object has no properties.
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		value, own := values[name], path+name
		var repeated string
		if json.Unmarshal(p.Header, &repeated) == nil && repeated != "" {
			if err := sameInHeader(own, value, "Mcp-Param-"+repeated, header); err != nil {
				return err
			}
		}
		if err := p.compare(own+".", value, header); err != nil {
			return err
		}
	}
	return nil
}

// sameInHeader returns an error if the header does not repeat the argument at path. A missing or
// null argument has no header.
func sameInHeader(path string, value json.RawMessage, name string, header http.Header) error {
	text := header.Get(name)
	absent := len(value) == 0 || string(value) == "null"
	switch {
	case absent && text != "":
		return fmt.Errorf("unexpected %s header for absent or null parameter %q", name, path)
	case absent:
		return nil
	case text == "":
		return fmt.Errorf("missing %s header for parameter %q", name, path)
	}
	decoded, ok := decodeHeader(text)
	if !ok {
		return fmt.Errorf("%s header contains invalid Base64 encoding", name)
	}
	var plain any
	if err := json.Unmarshal(value, &plain); err != nil {
		return fmt.Errorf("parameter %q: %w", path, err)
	}
	same, ok := equalsHeader(plain, decoded)
	switch {
	case !ok:
		return fmt.Errorf("%s header present but body parameter %q is not a primitive type", name, path)
	case !same:
		return fmt.Errorf("%s header value '%s' does not match body value", name, text)
	}
	return nil
}

// equalsHeader reports whether a simple value equals the header. ok is false for values that
// headers do not repeat. Numbers are compared by value: 3.0 equals 3.
func equalsHeader(value any, text string) (same, ok bool) {
	switch v := value.(type) {
	case string:
		return v == text, true
	case bool:
		return strconv.FormatBool(v) == text, true
	case float64:
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && safe(n) && n == v, safe(v)
	}
	return false, false
}

// safe reports whether a number is an integer that every JSON parser reads exactly.
func safe(n float64) bool { return n == math.Trunc(n) && math.Abs(n) <= maxSafe }

// decodeHeader is the inverse of encodeHeader. It returns false for invalid Base64.
func decodeHeader(text string) (string, bool) {
	encoded, ok := strings.CutPrefix(text, base64Begin)
	if ok {
		encoded, ok = strings.CutSuffix(encoded, base64End)
	}
	if !ok {
		return text, true
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}
