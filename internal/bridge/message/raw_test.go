// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAResultHasTheFormOfItsClientsEra(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("<x>", LargeResult/3)
	for name, tt := range map[string]struct {
		method, in     string
		modern, legacy string
	}{
		"a list": {methods.ListTools, `{"tools":[{"n":12345678901234567890}]}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"one","version":"1"}},"cacheScope":"private","resultType":"complete","tools":[{"n":12345678901234567890}],"ttlMs":0}`,
			`{"tools":[{"n":12345678901234567890}]}`},
		"what the server says of a list": {methods.ListTools, `{"resultType":"x","ttlMs":5,"cacheScope":"public","_meta":{"a":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"two"}}}`,
			`{"_meta":{"a":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"two"}},"cacheScope":"private","resultType":"x","ttlMs":5}`,
			`{"_meta":{"a":9007199254740993}}`},
		"a call, which is not kept": {methods.CallTool, `{"content":[],"ttlMs":7,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"two"}}}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"two"}},"content":[],"resultType":"complete","ttlMs":7}`, `{"content":[],"ttlMs":7}`},
		"a large one, on one line": {methods.CallTool, "{\"content\":[\n\"" + large + `"],"_meta":{}}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"one","version":"1"}},"content":["` + large + `"],"resultType":"complete"}`, `{"_meta":{},"content":["` + large + `"]}`},
		"a text that is not UTF-8": {methods.CallTool, "{\"content\":\"\xff\"}",
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"one","version":"1"}},"content":"` + "\uFFFD" + `","resultType":"complete"}`, `{"content":"` + "\uFFFD" + `"}`},
	} {
		modern := must.Value(ParseResult(json.RawMessage(tt.in)))(t)
		legacy := must.Value(ParseResult(json.RawMessage(tt.in)))(t)
		modern.ForModern(tt.method, &mcp.Implementation{Name: "one", Version: "1"})
		legacy.ForLegacy(tt.method)
		for want, result := range map[string]*Result{tt.modern: modern, tt.legacy: legacy} {
			if got := must.Value(result.MarshalJSON())(t); string(got) != want {
				t.Errorf("%s: %.300s, want %.300s", name, got, want)
			}
		}
	}
	for _, text := range []string{`null`, `[]`, `{"_meta":7}`, `{`} {
		if r, err := ParseResult(json.RawMessage(text)); err == nil {
			t.Errorf("%s is the result %+v", text, r)
		}
	}
}

func TestWhatAResultSaysOfItself(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0).UTC()
	for text, want := range map[string]string{
		`{}`: `error false, needs input false, next "", good until 60000`,
		`{"isError":true,"nextCursor":"c","ttlMs":1500}`:              `error true, needs input false, next "c", good until 1500`,
		`{"isError":1,"nextCursor":1,"ttlMs":"x","inputRequests":{}}`: `error false, needs input true, next "", good until 0`,
		`{"resultType":"input_required","ttlMs":-5}`:                  `error false, needs input true, next "", good until 0`,
		`{"ttlMs":1e12}`: `error false, needs input false, next "", good until 60000`,
	} {
		r := must.Value(ParseResult(json.RawMessage(text)))(t)
		got := fmt.Sprintf("error %v, needs input %v, next %q, good until %d", r.IsError(), r.NeedsInput(), r.NextCursor(), r.GoodUntil(now, now.Add(time.Minute)).UnixMilli())
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestAClientIsAskedOnlyWhatItDeclares has clients of 2026-07-28 declare capabilities.
func TestAClientIsAskedOnlyWhatItDeclares(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		`{}`: `modern`, `7`: `modern`, `{"elicitation":{}}`: `modern{"elicitation":{}} form`,
		`{"elicitation":{"form":{},"url":{}}}`:         `modern{"elicitation":{"form":{},"url":{}}} form url pages`,
		`{"elicitation":{"url":{}},"other":1}`:         `modern{"elicitation":{"url":{}}} url pages`,
		`{"sampling":{},"roots":{"listChanged":true}}`: `modern{"roots":{},"sampling":{}} sampling roots`,
	} {
		q := &Request{Method: methods.CallTool, Era: Modern, Meta: map[string]any{MetaClientCaps: json.RawMessage(declared)}, Params: &mcp.CallToolParamsRaw{}}
		got, caps := q.ClientKind(), q.Askable()
		for _, question := range [][3]string{{"form", methods.Elicit, `{}`}, {"url", methods.Elicit, `{"mode":"url"}`}, {"sampling", methods.CreateMessage}, {"roots", methods.ListRoots}, {"ping", methods.Ping}} {
			if Declares(caps, question[1], json.RawMessage(question[2])) {
				got += " " + question[0]
			}
		}
		if OpensPages(caps) {
			got += " pages"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", declared, got, want)
		}
	}
}
