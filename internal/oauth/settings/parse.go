// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads settings from YAML, with defaults for what it does not say. It
// refuses unknown and repeated fields, values of another type, a second document
// and whatever an installation could not work with, all of it in one error, a
// line for each, which names the field and says what is accepted. The error
// quotes nothing of fields that could hold a password by mistake.
func Parse(b []byte) (*Settings, error) {
	s, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("parse login settings: %w", err)
	}
	return s, nil
}

func decode(b []byte) (*Settings, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has a second document; it may have one")
	}
	var p problems
	if document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file must be a mapping, such as publicURL: https://bridges.example.com")
	}
	p.unknown(document.Content[0], reflect.TypeFor[Settings](), "")
	var s Settings
	if err := document.Decode(&s); err != nil {
		return nil, errors.Join(append(p, err)...)
	}
	s.complete()
	p.settings(&s)
	if len(p) > 0 {
		return nil, errors.Join(p...)
	}
	return &s, nil
}

// problems are the mistakes in a file.
type problems []error

// check adds a problem unless ok. want says what the field must be.
func (p *problems) check(ok bool, field, want string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s must be %s", field, want))
	}
}

// refuse adds a problem of a field if it is there.
func (p *problems) refuse(there bool, field, why string) {
	if there {
		*p = append(*p, fmt.Errorf("%s %s", field, why))
	}
}

// unknown adds the fields of node, at path, that t does not have. The decoder
// could tell of them too, though neither where they are nor what would be right.
func (p *problems) unknown(node *yaml.Node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range node.Content {
			p.unknown(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case node.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		p.unknownOf(node, t, path)
	}
}

func (p *problems) unknownOf(node *yaml.Node, t reflect.Type, path string) {
	fields, names := map[string]reflect.Type{}, make([]string, 0, t.NumField())
	for field := range t.Fields() {
		name := field.Tag.Get("yaml")
		fields[name], names = field.Type, append(names, name)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		field, ok := fields[key.Value]
		if !ok {
			*p = append(*p, fmt.Errorf("line %d: %.80q is no field; there are %s", key.Line, at, strings.Join(names, ", ")))
			continue
		}
		p.unknown(node.Content[i+1], field, at)
	}
}
