// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"fmt"
	"slices"
	"strings"
)

// odd is what decoders that are not careful change: large and spelled numbers, null and empty
// values, and characters that some encoders escape.
const odd = `{"n":9007199254740993,"f":1.0,"e":1E+2,"m":-0,"z":null,"s":"","b":false,"l":[],"o":{},"u":"<&>\u2028é"}`

// shape is the form of a message's parameters or result: the members that it must have, and the
// values that each optional member is given, one at a time.
type shape struct {
	base     string
	optional map[string][]string
}

// all returns the messages of the shape: without optional members, with each value of each of them,
// with all of them, and with members that no version of the protocol has.
func (s shape) all() []string {
	messages := []string{s.base}
	whole := s.base
	for _, name := range slices.Sorted(mapsKeys(s.optional)) {
		for _, value := range s.optional[name] {
			messages = append(messages, withMember(s.base, name, value))
		}
		whole = withMember(whole, name, s.optional[name][0])
	}
	return append(messages, whole,
		withMember(s.base, "x-future", odd),
		withMember(s.base, "_meta", `{}`),
		withMember(s.base, "_meta", `{"example.com/k":`+odd+`}`),
		withMember(whole, "x-future", odd),
	)
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// withMember adds a member to a JSON object, which may not have it.
func withMember(object, name, value string) string {
	comma := ","
	if strings.TrimSpace(object[1:len(object)-1]) == "" {
		comma = ""
	}
	return fmt.Sprintf("%s%s%q:%s}", object[:len(object)-1], comma, name, value)
}

// contents are blocks of content, with all that is optional in them empty.
var contents = []string{
	`{"type":"text","text":""}`,
	`{"type":"text","text":"t","annotations":{},"_meta":{},"x-future":null}`,
	`{"type":"text","text":"t","annotations":{"audience":[],"priority":0,"lastModified":""}}`,
	`{"type":"image","data":"","mimeType":""}`,
	`{"type":"audio","data":"","mimeType":"","_meta":` + odd + `}`,
	`{"type":"hologram","data":` + odd + `}`,
}

// blocks are those of results of tools and prompts.
var blocks = append(slices.Clone(contents),
	`{"type":"resource_link","uri":"x:y","name":"","size":0,"title":"","description":"","mimeType":"","icons":[]}`,
	`{"type":"resource","resource":{"uri":"x:y","text":"","mimeType":"","_meta":{}}}`,
	`{"type":"resource","resource":{"uri":"x:y","blob":""},"annotations":{"priority":0.0}}`,
)

// lists returns the content as lists of one, with an empty list first.
func listsOf(items []string) []string {
	lists := []string{`[]`}
	for _, item := range items {
		lists = append(lists, "["+item+"]")
	}
	return lists
}

// each returns format with each of the values.
func each(format string, values []string) []string {
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprintf(format, value))
	}
	return all
}

// many returns the messages of several shapes with the same optional members.
func many(bases []string, optional map[string][]string) []string {
	all := slices.Clone(bases)
	if len(bases) > 0 {
		all = append(all, shape{bases[0], optional}.all()...)
	}
	return all
}

// none stands for parameters that are missing.
const none = ""

// questionShapes are the parameters of servers' questions.
var questionShapes = map[string][]string{
	"elicitation/create": many([]string{
		`{"message":"","requestedSchema":{"type":"object","properties":{}}}`,
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"number","default":0,"minimum":0,"title":""},"b":{"type":"boolean","default":false},"c":{"type":"string","default":"","minLength":0,"description":""},"e":{"type":"string","enum":[],"enumNames":[]},"f":{"type":"array","items":{"enum":["x"]},"minItems":0,"default":[]}},"required":[]}}`,
		`{"mode":"url","message":"","url":"https://example.com/","elicitationId":"e"}`,
		`{"mode":"url","message":"","url":"","elicitationId":"","_meta":{}}`,
	}, map[string][]string{"mode": {`"form"`}, "task": {`{}`, `{"ttl":0}`}}),
	"sampling/createMessage": append(many([]string{
		`{"messages":[{"role":"user","content":{"type":"text","text":""}}],"maxTokens":0}`,
		`{"messages":[],"maxTokens":100}`,
		`{"messages":[{"role":"user","content":[]}],"maxTokens":1.0}`,
	}, map[string][]string{
		"temperature": {`0`, `0.0`, `-0`, `1`}, "stopSequences": {`[]`, `[""]`}, "systemPrompt": {`""`}, "includeContext": {`"none"`},
		"metadata": {`{}`, odd}, "tools": {`[]`, `[{"name":"t","inputSchema":{"type":"object"},"annotations":{}}]`}, "toolChoice": {`{}`, `{"mode":"auto"}`},
		"modelPreferences": {`{}`, `{"hints":[],"costPriority":0,"speedPriority":0.0,"intelligencePriority":0}`, `{"hints":[{}]}`, `{"hints":[{"name":""}]}`},
		"task":             {`{"ttl":0}`},
	}), append(each(`{"messages":[{"role":"user","content":%s}],"maxTokens":1}`, contents), each(`{"messages":[{"role":"assistant","content":[%s],"_meta":{}}],"maxTokens":1}`, contents)...)...),
	"roots/list": append([]string{none}, shape{base: `{}`}.all()...),
}

// replyShapes are the results of clients for servers' questions.
var replyShapes = map[string][]string{
	"elicitation/create": many([]string{
		`{"action":"accept"}`, `{"action":"decline"}`, `{"action":"cancel","content":{}}`,
	}, map[string][]string{"content": {`{}`, `{"a":0,"b":false,"c":"","d":[],"e":1.0}`, odd}}),
	"sampling/createMessage": append(many([]string{
		`{"role":"assistant","content":{"type":"text","text":""},"model":""}`,
		`{"role":"assistant","content":[],"model":"m"}`,
	}, map[string][]string{"stopReason": {`"endTurn"`, `""`}}), each(`{"role":"assistant","content":%s,"model":"m"}`, contents)...),
	"roots/list": many([]string{
		`{"roots":[]}`, `{"roots":[{"uri":"file:///a"}]}`, `{"roots":[{"uri":"file:///a","name":"","_meta":{},"x-future":` + odd + `}]}`,
	}, nil),
}

// requestShapes are the parameters of clients' requests that go to servers.
var requestShapes = map[string][]string{
	"tools/call":     many([]string{`{"name":"t"}`}, map[string][]string{"arguments": {`{}`, odd, `{"a":{"b":[[],{},null]}}`}, "task": {`{}`, `{"ttl":0}`}}),
	"prompts/get":    many([]string{`{"name":"p"}`}, map[string][]string{"arguments": {`{}`, `{"a":""}`}}),
	"resources/read": many([]string{`{"uri":"x:y"}`}, nil),
	"completion/complete": many([]string{
		`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
		`{"ref":{"type":"ref/prompt","name":"p","title":"","x-future":1.0},"argument":{"name":"a","value":"","x-future":null}}`,
		`{"ref":{"type":"ref/resource","uri":"x:y"},"argument":{"name":"","value":""}}`,
	}, map[string][]string{"context": {`{}`, `{"arguments":{}}`, `{"arguments":{"a":""}}`}}),
}

// pages are the parameters of lists, which one server answers itself.
var pages = append([]string{none}, many([]string{`{}`}, map[string][]string{"cursor": {`"c"`, `""`}})...)

// resultShapes are the results of servers.
var resultShapes = map[string][]string{
	"tools/call": slices.Concat(
		many([]string{`{"content":[]}`}, map[string][]string{"isError": {`false`, `true`}}),
		// Without content, structured content is put there, too.
		many([]string{`{"content":[{"type":"text","text":""}]}`}, map[string][]string{"isError": {`false`, `true`}, "structuredContent": {`{}`, odd}}),
		each(`{"content":%s}`, listsOf(blocks))),
	"prompts/get": append(many([]string{`{"messages":[]}`}, map[string][]string{"description": {`""`}}),
		each(`{"messages":[{"role":"user","content":%s}]}`, blocks)...),
	"resources/read": append(many([]string{`{"contents":[]}`}, nil),
		each(`{"contents":[{"uri":"x:y",%s}]}`, []string{`"text":""`, `"blob":""`, `"text":"","mimeType":"","_meta":{}`, `"text":"t","x-future":` + odd})...),
	"completion/complete": many([]string{`{"completion":{"values":[]}}`, `{"completion":{"values":[""],"total":0,"hasMore":false,"x-future":null}}`}, nil),
}

// listedShapes are the results of lists of one server.
var listedShapes = map[string][]string{
	"tools/list": append(many([]string{`{"tools":[]}`}, map[string][]string{"nextCursor": {`"n"`, `""`}}), each(`{"tools":[%s]}`, shape{
		`{"name":"t","inputSchema":{"type":"object"}}`, map[string][]string{
			"title": {`""`}, "description": {`""`}, "outputSchema": {`{"type":"object","properties":{},"required":[]}`}, "icons": {`[]`, `[{"src":"","sizes":[]}]`},
			"execution": {`{}`}, "annotations": {`{}`, `{"title":"","readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}`},
		},
	}.all())...),
	"prompts/list": append(many([]string{`{"prompts":[]}`}, nil), each(`{"prompts":[%s]}`, shape{
		`{"name":"p"}`, map[string][]string{"title": {`""`}, "description": {`""`}, "arguments": {`[]`, `[{"name":"a","required":false,"description":""}]`}},
	}.all())...),
	"resources/list": append(many([]string{`{"resources":[]}`}, nil), each(`{"resources":[%s]}`, shape{
		`{"uri":"x:y","name":""}`, map[string][]string{"title": {`""`}, "size": {`0`, `0.0`}, "mimeType": {`""`}, "annotations": {`{}`, `{"priority":0,"audience":[]}`}},
	}.all())...),
	"resources/templates/list": append(many([]string{`{"resourceTemplates":[]}`}, nil), each(`{"resourceTemplates":[%s]}`, shape{
		`{"uriTemplate":"x:{y}","name":""}`, map[string][]string{"title": {`""`}, "mimeType": {`""`}, "annotations": {`{}`}},
	}.all())...),
}

// failures are the errors of servers, whose members are those of JSON-RPC.
var failures = append([]string{`{"code":-32000,"message":""}`, `{"code":7,"message":"m"}`},
	each(`{"code":-32001,"message":"m","data":%s}`, []string{`null`, `0`, `false`, `""`, `[]`, `{}`, odd})...)

// during are the notifications during a call. %s is the progress token.
var during = map[string][]string{
	"notifications/progress": many([]string{`{"progressToken":%s,"progress":0}`, `{"progressToken":%s,"progress":0.0,"total":0,"message":""}`, `{"progressToken":%s,"progress":1E+2}`},
		map[string][]string{"total": {`0`, `1.0`}, "message": {`""`}}),
	"notifications/message": many([]string{`{"level":"emergency","data":null}`, `{"level":"emergency","data":""}`, `{"level":"emergency","data":[]}`, `{"level":"emergency","data":` + odd + `}`},
		map[string][]string{"logger": {`""`}}),
	"notifications/elicitation/complete": many([]string{`{"elicitationId":""}`}, nil),
}

// unasked are the notifications outside of calls that go to the session of a client.
var unasked = map[string][]string{
	"notifications/message":                during["notifications/message"],
	"notifications/resources/updated":      many([]string{`{"uri":"x:y"}`}, map[string][]string{"title": {`""`}}),
	"notifications/tools/list_changed":     append([]string{none}, shape{base: `{}`}.all()...),
	"notifications/prompts/list_changed":   append([]string{none}, shape{base: `{}`}.all()...),
	"notifications/resources/list_changed": append([]string{none}, shape{base: `{}`}.all()...),
	"notifications/elicitation/complete":   during["notifications/elicitation/complete"],
}
