// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package listentry

import (
	"encoding/json"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

func TestAnEntryIsMendedWhereClientsWouldRefuseTheList(t *testing.T) {
	t.Parallel()
	const tools, prompts, resources, templates = methods.ListTools, methods.ListPrompts, methods.ListResources, methods.ListTemplates
	for _, tt := range []struct{ name, method, entry, want string }{
		{"a tool in order", tools, `{"name":"a","inputSchema":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"number","default":true}}},"x":1}`, ""},
		{"a property true", tools, `{"name":"a","inputSchema":{"type":"object","properties":{"b":true,"a":{}}}}`, `{"inputSchema":{"type":"object","properties":{"b":{},"a":{}}},"name":"a"}`},
		{"a property false", tools, `{"name":"a","inputSchema":{"type":"object","properties":{"n":false}}}`, `{"inputSchema":{"type":"object","properties":{"n":{"not":{}}}},"name":"a"}`},
		{"booleans at every depth", tools, `{"name":"a","inputSchema":{"type":"object","properties":{"n":{"items":true,"anyOf":[false,{"not":true}],"const":true,"enum":[true]}},"$defs":{"d":true}}}`, `{"inputSchema":{"type":"object","properties":{"n":{"items":{},"anyOf":[{"not":{}},{"not":{}}],"const":true,"enum":[true]}},"$defs":{"d":{}}},"name":"a"}`},
		{"a property that is called properties", tools, `{"name":"a","inputSchema":{"type":"object","properties":{"properties":{"default":true}}}}`, ""},
		{"no type", tools, `{"name":"a","inputSchema":{"properties":{}}}`, `{"inputSchema":{"type":"object","properties":{}},"name":"a"}`},
		{"an empty schema", tools, `{"name":"a","inputSchema":{}}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"no schema", tools, `{"name":"a"}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"a schema that is true", tools, `{"name":"a","inputSchema":true}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"a schema of a text", tools, `{"name":"a","inputSchema":{"type":"string"},"outputSchema":{"type":"string"}}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"required that is no list", tools, `{"name":"a","inputSchema":{"type":"object","required":true}}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"annotations of other types", tools, `{"name":"a","title":1,"description":null,"inputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":"yes","x":1},"_meta":[]}`, `{"annotations":{"title":"A","x":1},"inputSchema":{"type":"object"},"name":"a"}`},
		{"icons without a source", tools, `{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"a"},{},"b",{"src":"c","sizes":"any","theme":"blue"}]}`, `{"icons":[{"src":"a"},{"src":"c"}],"inputSchema":{"type":"object"},"name":"a"}`},
		{"another task support", tools, `{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`, `{"execution":{},"inputSchema":{"type":"object"},"name":"a"}`},
		{"a prompt in order", prompts, `{"name":"a","arguments":[{"name":"b","required":true}]}`, ""},
		{"arguments without a name", prompts, `{"name":"a","arguments":[{"name":"b","required":"yes"},{"description":"c"}]}`, `{"arguments":[{"name":"b"}],"name":"a"}`},
		{"arguments that are a map", prompts, `{"name":"a","arguments":{"b":{}}}`, `{"name":"a"}`},
		{"a resource in order", resources, `{"uri":"a:b","name":"b","size":1,"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"}}`, ""},
		{"a resource without a name", resources, `{"uri":"a:b","size":"1","mimeType":1}`, `{"name":"a:b","uri":"a:b"}`},
		{"annotations out of range", resources, `{"uri":"a:b","name":"b","annotations":{"audience":["all","user"],"priority":5,"lastModified":"yesterday"}}`, `{"annotations":{"audience":["user"]},"name":"b","uri":"a:b"}`},
		{"a template without a name", templates, `{"uriTemplate":"a:{b}"}`, `{"name":"a:{b}","uriTemplate":"a:{b}"}`},
	} {
		want := tt.want
		if want == "" {
			want = tt.entry
		}
		got := string(Mend(tt.method, json.RawMessage(tt.entry)))
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, want)
		}
		if again := string(Mend(tt.method, json.RawMessage(got))); again != got {
			t.Errorf("%s: a second time it is %s", tt.name, again)
		}
	}
}
