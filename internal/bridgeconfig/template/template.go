// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package template parses the texts that name secrets, such as header values: ${NAME} stands for
// the secret of that name, ${NAME:-text} for the text if that secret is not set, and $$ for a
// dollar sign. Any other dollar sign is an error, so that a typing mistake is not sent to a
// server.
//
// The package is pure and uses only the standard library. Its errors contain neither a template,
// which may hold a secret by mistake, nor a value.
package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxHeader is the maximum length of an expanded header in bytes: the longest secret, 64 KiB,
// within the longest template that the API accepts.
const MaxHeader = 64<<10 + 1<<10

// namePattern is v1alpha1.SecretNamePattern, which this package cannot import:
// the bridge links nothing of Kubernetes. maxName stands for its counted repetitions, each of which
// would compile to as many instructions as its count.
var namePattern = regexp.MustCompile(`^([A-Z][A-Z0-9_]*|[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)+)$`)

var (
	errUnknown = errors.New("it begins neither ${NAME} nor ${NAME:-text}, and a dollar sign itself is $$")
	errOpen    = errors.New("the closing brace is missing")
	errName    = errors.New("what is named in braces is not a secret's name, such as GITHUB_TOKEN or credentials.json")
	errDefault = errors.New("a dollar sign in the text after :- is $$")
)

// maxName is the length of the longest name, in bytes.
const maxName = 64

// ValidName reports whether s is the name of a secret.
func ValidName(s string) bool { return len(s) <= maxName && namePattern.MatchString(s) }

// Template is a parsed text. The zero Template is empty.
type Template struct {
	parts []part
}

// part is a text, or a secret if it has a name.
type part struct {
	name     string
	optional bool   // whether text is the default of a secret
	text     string // the text, or the default
}

// Parse parses a template. Its errors contain the position of the invalid dollar sign, in bytes
// from 1.
func Parse(s string) (Template, error) {
	var t Template
	for at := 0; at < len(s); {
		dollar := strings.IndexByte(s[at:], '$')
		if dollar < 0 {
			t.add(part{text: s[at:]})
			break
		}
		t.add(part{text: s[at : at+dollar]})
		at += dollar
		p, length, err := parsePart(s[at:])
		if err != nil {
			return Template{}, fmt.Errorf("$ at position %d: %w", at+1, err)
		}
		t.add(p)
		at += length
	}
	return t, nil
}

// add appends p. It joins adjacent texts.
func (t *Template) add(p part) {
	last := len(t.parts) - 1
	switch {
	case p.name != "":
		t.parts = append(t.parts, p)
	case p.text == "":
	case last >= 0 && t.parts[last].name == "":
		t.parts[last].text += p.text
	default:
		t.parts = append(t.parts, p)
	}
}

// parsePart parses the part that starts with the dollar sign at the beginning of s, and returns
// its length.
func parsePart(s string) (part, int, error) {
	if strings.HasPrefix(s, "$$") {
		return part{text: "$"}, 2, nil
	}
	if !strings.HasPrefix(s, "${") {
		return part{}, 0, errUnknown
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return part{}, 0, errOpen
	}
	name, text, optional := strings.Cut(s[len("${"):end], ":-")
	if !ValidName(name) {
		return part{}, 0, errName
	}
	text, err := unescape(text)
	if err != nil {
		return part{}, 0, err
	}
	return part{name: name, optional: optional, text: text}, end + 1, nil
}

// unescape parses a default, which may contain a dollar sign only as $$.
func unescape(s string) (string, error) {
	if strings.Contains(strings.ReplaceAll(s, "$$", ""), "$") {
		return "", errDefault
	}
	return strings.ReplaceAll(s, "$$", "$"), nil
}

// Names returns the names of all secrets in the template, in order of first use.
func (t Template) Names() []string {
	return t.names(func(part) bool { return true })
}

// Required returns the names of the secrets without a default, in order of first use.
func (t Template) Required() []string {
	return t.names(func(p part) bool { return !p.optional })
}

func (t Template) names(want func(part) bool) []string {
	var names []string
	for _, p := range t.parts {
		if p.name != "" && want(p) && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// Expand replaces the secrets by their values from lookup. If secrets without a default are
// missing, it returns their names and no value.
func (t Template) Expand(lookup func(name string) (string, bool)) (value string, missing []string) {
	var b strings.Builder
	for _, p := range t.parts {
		text, ok := p.expand(lookup)
		if !ok {
			if !slices.Contains(missing, p.name) {
				missing = append(missing, p.name)
			}
			continue
		}
		b.WriteString(text)
	}
	if missing != nil {
		return "", missing
	}
	return b.String(), nil
}

// expand returns the text of p. It returns false for a missing secret without a default.
func (p part) expand(lookup func(name string) (string, bool)) (string, bool) {
	if p.name == "" {
		return p.text, true
	}
	if value, ok := lookup(p.name); ok {
		return value, true
	}
	return p.text, p.optional
}

// Fill returns the template in which texts stand for the names that are in values. The others stay.
func (t Template) Fill(values map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		value, filled := values[p.name]
		switch {
		case p.name == "":
			b.WriteString(escape(p.text))
		case filled:
			b.WriteString(escape(value))
		case p.optional:
			b.WriteString("${" + p.name + ":-" + escape(p.text) + "}")
		default:
			b.WriteString("${" + p.name + "}")
		}
	}
	return b.String()
}

// escape is the opposite of unescape.
func escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// ExpandHeader is like Expand, for the value of an HTTP header. It refuses values with control
// characters, which could end the header and start another, and values longer than MaxHeader.
func (t Template) ExpandHeader(header string, lookup func(name string) (string, bool)) (value string, missing []string, err error) {
	size := 0
	for _, p := range t.parts {
		text, _ := p.expand(lookup)
		if size += len(text); size > MaxHeader {
			return "", nil, fmt.Errorf("header %s is longer than %d bytes", header, MaxHeader)
		}
		if !hasControl(text) {
			continue
		}
		if p.name == "" {
			return "", nil, fmt.Errorf("header %s holds a line break or another control character", header)
		}
		return "", nil, fmt.Errorf("secret %s holds a line break or another control character, which header %s cannot", p.name, header)
	}
	value, missing = t.Expand(lookup)
	return value, missing, nil
}

// hasControl reports whether s contains an ASCII control character.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
