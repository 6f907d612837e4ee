// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// fieldValue is the field of a form that has a secret.
const fieldValue = "value"

var errEscape = errors.New("not a form")

// splitSecret returns the fields of a form, and apart from them the value of its secret,
// which it decodes in place: no text of it is left elsewhere.
func splitSecret(body []byte) (form url.Values, value []byte, err error) {
	var rest [][]byte
	for field := range bytes.SplitSeq(body, []byte("&")) {
		name, text, _ := bytes.Cut(field, []byte("="))
		if string(name) != fieldValue {
			rest = append(rest, field)
			continue
		}
		if value != nil {
			return nil, nil, errEscape // Two values, one of which would be lost.
		}
		if value, err = unescape(text); err != nil {
			return nil, nil, err
		}
	}
	form, err = url.ParseQuery(string(bytes.Join(rest, []byte("&"))))
	if err == nil && form.Has(fieldValue) {
		err = errEscape // Its name is escaped, which no browser does.
	}
	return form, value, err
}

// unescape decodes a field in place.
func unescape(b []byte) ([]byte, error) {
	n := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '+':
			b[n] = ' '
		case '%':
			if i+2 >= len(b) || !isHex(b[i+1]) || !isHex(b[i+2]) {
				return nil, errEscape
			}
			b[n] = hexOf(b[i+1])<<4 | hexOf(b[i+2])
			i += 2
		default:
			b[n] = b[i]
		}
		n++
	}
	return b[:n], nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexOf(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// serverName is the form of a server's name.
var serverName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// serverPath returns a server's name as a part of a path, empty for an invalid name.
func serverPath(name string) string {
	if serverName.MatchString(name) {
		return name
	}
	return ""
}

// listed returns names as a sentence has them.
func listed(names []string) string { return strings.Join(names, ", ") }
