// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package listentry

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"slices"
)

// anyArguments is the schema of a tool whose own cannot be one of arguments.
const anyArguments = `{"type":"object"}`

// inputSchema is the rule for the schema of arguments, which a tool has to have.
func inputSchema(raw json.RawMessage) (json.RawMessage, bool) {
	if mended, ok := objectSchema(raw); ok {
		return mended, true
	}
	return json.RawMessage(anyArguments), true
}

// objectSchema is the rule for schemas of objects, whose type clients want to be said.
func objectSchema(raw json.RawMessage) (json.RawMessage, bool) {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(raw, &root) != nil || bytes.TrimSpace(raw)[0] != '{' {
		return nil, false
	}
	if root.Type != nil && string(root.Type) != `"object"` {
		return nil, false
	}
	mended, err := withoutBooleans(raw)
	if err != nil {
		return nil, false
	}
	if root.Type == nil {
		mended = typed(mended)
	}
	return object(map[string]rule{"required": texts, "properties": object(nil)})(mended)
}

// typed says that a schema without a type is that of an object: arguments and structured results are
// nothing else.
func typed(schema json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) == nil && len(members) == 0 {
		return json.RawMessage(anyArguments)
	}
	return append([]byte(`{"type":"object",`), bytes.TrimSpace(schema)[1:]...)
}

// texts is the rule for arrays of strings. All of them are kept.
var texts = is(func(all []*string) bool { return all != nil && !slices.Contains(all, nil) })

// place is what a value in a schema is.
type place int

const (
	inSchema  place = iota + 1 // a schema
	inSchemas                  // an object whose members are schemas
	inList                     // an array of schemas, or a schema
)

// places are the keywords whose values have schemas (JSON Schema 2020-12, core 10 and 11, and
// earlier drafts). additionalProperties, unevaluatedProperties and those of items are not among them:
// every client takes true and false there, and vendors of models ask for false.
var places = map[string]place{
	"properties": inSchemas, "patternProperties": inSchemas, "dependentSchemas": inSchemas, "$defs": inSchemas, "definitions": inSchemas,
	"items": inList, "prefixItems": inList, "allOf": inList, "anyOf": inList, "oneOf": inList,
	"contains": inSchema, "propertyNames": inSchema, "not": inSchema, "if": inSchema, "then": inSchema, "else": inSchema,
}

// withoutBooleans returns a schema in which {} stands for true and {"not": {}} for false, which are equal
// to them. It keeps the order of members, and is raw if nothing changes.
func withoutBooleans(raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, []byte("true")) && !bytes.Contains(raw, []byte("false")) {
		return raw, nil
	}
	var out bytes.Buffer
	r := rewriter{jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&out), false}
	if err := r.copy(inSchema); err != nil {
		return nil, err
	}
	if !r.changed {
		return raw, nil
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// rewriter copies one schema.
type rewriter struct {
	in      *jsontext.Decoder
	out     *jsontext.Encoder
	changed bool
}

// copy copies a value that is at a place.
func (r *rewriter) copy(at place) error {
	switch kind := r.in.PeekKind(); {
	case (at == inSchema || at == inList) && (kind == jsontext.KindTrue || kind == jsontext.KindFalse):
		return r.replace()
	case kind == jsontext.KindBeginObject && at != 0:
		return r.object(at)
	case kind == jsontext.KindBeginArray && at == inList:
		return r.list()
	default:
		value, err := r.in.ReadValue()
		if err != nil {
			return err
		}
		return r.out.WriteValue(value)
	}
}

// replace writes the object that is equal to a boolean.
func (r *rewriter) replace() error {
	token, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	r.changed = true
	if token.Kind() == jsontext.KindTrue {
		return r.out.WriteValue(jsontext.Value(`{}`))
	}
	return r.out.WriteValue(jsontext.Value(`{"not":{}}`))
}

func (r *rewriter) object(at place) error {
	if err := r.token(); err != nil {
		return err
	}
	for r.in.PeekKind() != jsontext.KindEndObject {
		name, err := r.in.ReadToken()
		if err != nil {
			return err
		}
		member := inSchema
		if at != inSchemas {
			member = places[name.String()]
		}
		if err := r.out.WriteToken(name); err != nil {
			return err
		}
		if err := r.copy(member); err != nil {
			return err
		}
	}
	return r.token()
}

func (r *rewriter) list() error {
	if err := r.token(); err != nil {
		return err
	}
	for r.in.PeekKind() != jsontext.KindEndArray {
		if err := r.copy(inSchema); err != nil {
			return err
		}
	}
	return r.token()
}

// token copies a delimiter.
func (r *rewriter) token() error {
	token, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	return r.out.WriteToken(token)
}
