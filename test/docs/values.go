// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Values returns the reference of a chart's values, from values.yaml with its
// comments and the schema beside it.
func Values(values, schema []byte) (string, error) {
	var tree yaml.Node
	if err := yaml.Unmarshal(values, &tree); err != nil {
		return "", fmt.Errorf("read the values: %w", err)
	}
	var form map[string]any
	if err := json.Unmarshal(schema, &form); err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	v := reference{schema: form}
	top := tree.Content[0].Content
	for i := 0; i < len(top); i += 2 {
		key, value := top[i], top[i+1]
		fmt.Fprintf(&v.text, "\n## %s\n\n%s\n\n| value | default | |\n| --- | --- | --- |\n", key.Value, escaped.Replace(prose(key)))
		if !v.below(key.Value, value, v.member(form, key.Value)) {
			v.row(key.Value, key, value, v.member(form, key.Value))
		}
	}
	return v.text.String(), nil
}

// reference writes the reference.
type reference struct {
	schema map[string]any
	text   bytes.Buffer
}

// below writes what is in a mapping, and reports whether its keys are fixed. A mapping
// that stands on one line is one value.
func (v *reference) below(path string, value *yaml.Node, form map[string]any) bool {
	if value.Kind != yaml.MappingNode || len(value.Content) == 0 || value.Style&yaml.FlowStyle != 0 || form["additionalProperties"] != false {
		return false
	}
	for i := 0; i < len(value.Content); i += 2 {
		key, inner := value.Content[i], value.Content[i+1]
		name := path + "." + key.Value
		mark := v.text.Len()
		if prose(key) != "" {
			v.row(name, key, nil, nil)
		}
		if !v.below(name, inner, v.member(form, key.Value)) {
			v.text.Truncate(mark)
			v.row(name, key, inner, v.member(form, key.Value))
		}
	}
	return true
}

// row writes one line of a table.
func (v *reference) row(name string, key, value *yaml.Node, form map[string]any) {
	said := prose(key)
	if !strings.Contains(name, ".") {
		said = "" // It stands under the heading.
	}
	if words := oneOf(form); words != "" {
		said = strings.TrimSpace(said + " One of " + words + ".")
	}
	fmt.Fprintf(&v.text, "| `%s` | %s | %s |\n", name, inline(value), escaped.Replace(said))
}

// member returns the schema of a property, with what it refers to.
func (v *reference) member(form map[string]any, name string) map[string]any {
	properties, _ := form["properties"].(map[string]any)
	found, _ := properties[name].(map[string]any)
	return v.resolved(found)
}

func (v *reference) resolved(form map[string]any) map[string]any {
	target, refers := form["$ref"].(string)
	if !refers {
		return form
	}
	found := v.schema
	for part := range strings.SplitSeq(strings.TrimPrefix(target, "#/"), "/") {
		found, _ = found[part].(map[string]any)
	}
	return found
}

// oneOf lists the texts that a value may be.
func oneOf(form map[string]any) string {
	enum, _ := form["enum"].([]any)
	words := make([]string, 0, len(enum))
	for _, word := range enum {
		words = append(words, fmt.Sprintf("`%v`", word))
	}
	return strings.Join(words, ", ")
}

// escaped keeps text from being markup, in a table too.
var escaped = strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`)

// prose returns the comment above a key as one paragraph.
func prose(key *yaml.Node) string {
	lines := strings.FieldsFunc(key.HeadComment, func(r rune) bool { return r == '\n' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	return strings.Join(lines, " ")
}

// inline returns a value as it is written on one line.
func inline(value *yaml.Node) string {
	if value == nil {
		return ""
	}
	flat := *value
	flat.HeadComment, flat.LineComment, flat.FootComment = "", "", ""
	if flat.Kind == yaml.MappingNode || flat.Kind == yaml.SequenceNode {
		flat.Style = yaml.FlowStyle
	}
	text, err := yaml.Marshal(&flat)
	if err != nil {
		return ""
	}
	return "`" + strings.Join(strings.Fields(string(text)), " ") + "`"
}
