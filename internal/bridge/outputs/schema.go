// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package outputs

import (
	"encoding/json"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The limits of what is compared. Servers choose schemas and results, and the time of a comparison is
// about the product of their sizes, by walk and sizeOf.
const (
	// maxCompared bounds a schema, and a result, in bytes. Results of this size are also the largest
	// that pass through the encoder.
	maxCompared = 64 << 10
	// maxNodes bounds the size of a schema, with what each $ref refers to counted where it stands: a
	// schema that refers to itself is larger.
	maxNodes = 1000
	// maxWork bounds the product of the sizes. The worst schemas that were tried take some 0.3 s within it on a
	// processor.
	maxWork = 256 << 10
)

// schema is an output schema that results are compared with.
type schema struct {
	nodes    int
	resolved *jsonschema.Resolved
}

// compile returns nil for a schema with which nothing is compared: none, one that is too large or
// refers to itself or to other documents, and one that is not valid.
func compile(raw json.RawMessage) *schema {
	var document map[string]any
	if len(raw) == 0 || len(raw) > maxCompared || json.Unmarshal(raw, &document) != nil {
		return nil
	}
	w := walk{root: document}
	if w.count(document); w.nodes > maxNodes {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(raw, &s) != nil || s.Types != nil || s.Type != "" && s.Type != "object" {
		return nil // Lists have schemas of objects alone.
	}
	resolved, err := s.Resolve(nil) // Without a loader, no reference leaves the document.
	if err != nil {
		return nil
	}
	return &schema{nodes: w.nodes, resolved: resolved}
}

// fits reports whether a value fits the schema. known is false for one that is too large to say.
func (s *schema) fits(value json.RawMessage) (fit, known bool) {
	var v any
	if len(value) > maxCompared || json.Unmarshal(value, &v) != nil || s.nodes*sizeOf(v) > maxWork {
		return false, false
	}
	return s.resolved.Validate(v) == nil, true
}

// sizeOf returns the number of values in a value, where 16 bytes of text count as one.
func sizeOf(value any) int {
	size := 1
	switch v := value.(type) {
	case string:
		size += len(v) / 16
	case []any:
		for _, element := range v {
			size += sizeOf(element)
		}
	case map[string]any:
		for name, member := range v {
			size += len(name)/16 + sizeOf(member)
		}
	}
	return size
}

// walk counts the values in a schema, and the steps of its regular expressions.
type walk struct {
	root  any
	nodes int
}

// count counts a value with all that it contains or refers to. It ends soon after maxNodes, which a
// reference other than a JSON pointer in the document exceeds.
func (w *walk) count(value any) {
	w.nodes++
	if w.nodes > maxNodes {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			w.count(element)
		}
	case map[string]any:
		for name, member := range v {
			w.countMember(name, member)
		}
	}
}

// countMember counts a member of an object, whatever place the object has in the schema.
func (w *walk) countMember(name string, member any) {
	switch v := member.(type) {
	case string:
		switch name {
		case "$ref":
			w.follow(v)
		case "pattern":
			w.addPattern(v)
		case "$dynamicRef", "$recursiveRef", "$id":
			w.nodes = maxNodes + 1 // A pointer would not be enough to follow these.
		}
	case map[string]any:
		if name == "patternProperties" {
			for pattern := range v {
				w.addPattern(pattern)
			}
		}
	}
	w.count(member)
}

// addPattern counts the steps of a regular expression, which its repetitions multiply.
func (w *walk) addPattern(pattern string) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		w.nodes = maxNodes + 1
		return
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		w.nodes = maxNodes + 1
		return
	}
	w.nodes += len(program.Inst)
}

// follow counts what a reference refers to.
func (w *walk) follow(ref string) {
	path, ok := strings.CutPrefix(ref, "#")
	target := w.root
	for i, name := range strings.Split(path, "/") {
		if i == 0 {
			ok = ok && name == ""
			continue
		}
		target, ok = memberOf(target, name), ok && target != nil
	}
	if !ok || target == nil {
		w.nodes = maxNodes + 1
		return
	}
	w.count(target)
}

// memberOf returns the member that one step of a JSON pointer names, nil for a missing one.
func memberOf(value any, name string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && 0 <= i && i < len(v) {
			return v[i]
		}
	}
	return nil
}
