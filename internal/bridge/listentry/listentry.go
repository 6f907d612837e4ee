// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package listentry mends entries of servers' lists that clients refuse. Clients check a list as a
// whole: those on @modelcontextprotocol/sdk 1.32.2, such as Gemini CLI 0.61.0, opencode 1.18.33 and
// Cline 3.0.65, have no tool of any server if one tool of one server is not as they expect. So what
// is optional and wrong is left out, and schemas are written in the form that all of them take.
package listentry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// rule returns a value as clients take it, and false for one that is left out. It returns an equal
// value as it is.
type rule func(json.RawMessage) (json.RawMessage, bool)

// entries are the rules of the members of entries, by the method of the list. They are those of the
// types of @modelcontextprotocol/sdk 1.32.2. Other members are for clients that know them.
var entries = map[string]map[string]rule{
	methods.ListTools: with(map[string]rule{
		"inputSchema": inputSchema, "outputSchema": objectSchema,
		"annotations": object(map[string]rule{
			"title": text, "readOnlyHint": boolean, "destructiveHint": boolean, "idempotentHint": boolean, "openWorldHint": boolean,
		}),
		"execution": object(map[string]rule{"taskSupport": oneOf("required", "optional", "forbidden")}),
	}),
	methods.ListPrompts: with(map[string]rule{
		"arguments": list(having("name", object(map[string]rule{"name": text, "description": text, "required": boolean}))),
	}),
	methods.ListResources: with(map[string]rule{"mimeType": text, "size": number, "annotations": annotations}),
	methods.ListTemplates: with(map[string]rule{"mimeType": text, "annotations": annotations}),
}

// with adds the members that all entries have.
func with(members map[string]rule) map[string]rule {
	members["title"], members["description"], members["_meta"] = text, text, object(nil)
	members["icons"] = list(having("src", object(map[string]rule{
		"src": text, "mimeType": text, "sizes": list(text), "theme": oneOf("light", "dark"),
	})))
	return members
}

var annotations = object(map[string]rule{
	"audience": list(oneOf("user", "assistant")), "priority": share, "lastModified": dateTime,
})

// Mend returns an entry of a list, which is an object with the member that names it, in a form that
// clients take. An entry that is in order is returned as it is.
func Mend(method string, entry json.RawMessage) json.RawMessage {
	rules := entries[method]
	if method == methods.ListTools && !bytes.Contains(entry, []byte(`"inputSchema"`)) {
		entry, _ = message.WithField(entry, "inputSchema", json.RawMessage(anyArguments))
	}
	if method == methods.ListResources || method == methods.ListTemplates {
		entry = named(entry, methods.Of(method).List.Key)
	}
	if mended, ok := object(rules)(entry); ok {
		return mended
	}
	return entry
}

// Shown returns an entry of a server's list as clients see it, and whether they see it.
type Shown func(name string, entry json.RawMessage) (json.RawMessage, bool)

// Page returns a page of a server's list with entries that clients take. Those that have no name are
// left out, since nobody can ask for them. A page that is in order is returned as it is; the page itself
// stays unchanged.
func Page(method string, page *message.Result, shown Shown) (*message.Result, error) {
	shape := methods.Of(method).List
	var entries []json.RawMessage
	if raw, ok := page.Fields[shape.Field]; ok {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, fmt.Errorf("parse %s: %w", shape.Field, err)
		}
	}
	kept, changed := make([]json.RawMessage, 0, len(entries)), false
	for _, entry := range entries {
		name := nameOf(entry, shape.Key)
		seen, ok := shown(name, entry)
		if name == "" || !ok {
			changed = true
			continue
		}
		seen = Mend(method, seen)
		changed = changed || !bytes.Equal(seen, entry)
		kept = append(kept, seen)
	}
	if !changed {
		return page, nil
	}
	mended := page.Clone()
	mended.Set(shape.Field, kept)
	return mended, nil
}

// nameOf returns the member that names an entry, empty for an entry without a name.
func nameOf(entry json.RawMessage, key string) (name string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry, &fields) != nil || json.Unmarshal(fields[key], &name) != nil {
		return ""
	}
	return name
}

// named gives a resource without a name its URI as one.
func named(entry json.RawMessage, key string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry, &fields) != nil {
		return entry
	}
	if _, ok := text(fields["name"]); ok {
		return entry
	}
	mended, err := message.WithField(entry, "name", fields[key])
	if err != nil {
		return entry
	}
	return mended
}

// object is a rule for objects with rules for some of their members. Members that are left out
// change the object.
func object(rules map[string]rule) rule {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil || members == nil {
			return nil, false
		}
		changed := false
		for name, value := range members {
			rule, ruled := rules[name]
			if !ruled {
				continue
			}
			switch mended, ok := rule(value); {
			case !ok:
				delete(members, name)
				changed = true
			case !bytes.Equal(mended, value):
				members[name], changed = mended, true
			}
		}
		return encodedIf(changed, members, raw)
	}
}

// having is a rule for objects that have a member, after other rules.
func having(member string, next rule) rule {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		mended, ok := next(raw)
		var members map[string]json.RawMessage
		return mended, ok && json.Unmarshal(mended, &members) == nil && members[member] != nil
	}
}

// list is a rule for arrays. Elements that do not follow the rule are left out.
func list(each rule) rule {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil || elements == nil {
			return nil, false
		}
		kept, changed := make([]json.RawMessage, 0, len(elements)), false
		for _, element := range elements {
			mended, ok := each(element)
			changed = changed || !ok || !bytes.Equal(mended, element)
			if ok {
				kept = append(kept, mended)
			}
		}
		return encodedIf(changed, kept, raw)
	}
}

// encodedIf encodes what has changed.
func encodedIf(changed bool, value any, raw json.RawMessage) (json.RawMessage, bool) {
	if !changed {
		return raw, true
	}
	mended, err := json.Marshal(value)
	return mended, err == nil
}

// is is a rule for values of a type for which ok is true.
func is[T any](ok func(T) bool) rule {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		var value *T
		return raw, json.Unmarshal(raw, &value) == nil && value != nil && ok(*value)
	}
}

func anyOf[T any](T) bool { return true }

var (
	text    = is(anyOf[string])
	boolean = is(anyOf[bool])
	number  = is(anyOf[float64])
	share   = is(func(n float64) bool { return n >= 0 && n <= 1 })

	dateTimeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})$`)
	dateTime     = is(dateTimeForm.MatchString)
)

func oneOf(values ...string) rule {
	return is(func(s string) bool { return slices.Contains(values, s) })
}
