// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

func TestTheRequestsInABody(t *testing.T) {
	request := func(id, method string) rpcMessage { return rpcMessage{ID: json.RawMessage(id), Method: method} }
	call := func(id, tool, arguments string) rpcMessage {
		m := request(id, "tools/call")
		m.Tool = tool
		if arguments != "" {
			m.Arguments = json.RawMessage(arguments)
		}
		return m
	}
	tests := map[string]struct {
		body string
		want []rpcMessage
	}{
		"a request":                         {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []rpcMessage{request("1", "ping")}},
		"white space everywhere":            {" \n{ \"id\" :\t\"a b\" , \"method\" : \"ping\" } ", []rpcMessage{request(`"a b"`, "ping")}},
		"a tool call":                       {callOf("7", "search"), []rpcMessage{call("7", "search", `{"q":"canary"}`)}},
		"a tool with an escaped name":       {`{"id":1,"method":"tools\/call","params":{"n\u0061me":"se\u0061rch"}}`, []rpcMessage{call("1", "search", "")}},
		"a batch":                           {`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"result":{}},{"id":3,"method":"b"}]`, []rpcMessage{request("1", "a"), request("3", "b")}},
		"an id that is null":                {`{"id":null,"method":"ping"}`, []rpcMessage{request("null", "ping")}},
		"names that differ in case":         {`{"ID":1,"Method":"ping","id":2,"method":"a"}`, []rpcMessage{request("2", "a")}},
		"a name that stands twice":          {`{"id":1,"id":2,"method":"a","method":"b"}`, []rpcMessage{request("2", "b")}},
		"braces and quotes in strings":      {`{"x":"}\"]{[\\","id":1,"method":"a"}`, []rpcMessage{request("1", "a")}},
		"a name of a method that has none":  {`{"id":1,"method":"prompts/get","params":{"name":"p","arguments":{}}}`, []rpcMessage{request("1", "prompts/get")}},
		"a notification":                    {`{"method":"notifications/x"}`, nil},
		"a response":                        {`{"id":1,"result":{"method":"a"}}`, nil},
		"a method that is no string":        {`{"id":1,"method":5}`, nil},
		"a method without a name":           {`{"id":1,"method":""}`, []rpcMessage{request("1", "")}},
		"a method that is null":             {`{"id":1,"method":null}`, []rpcMessage{request("1", "")}},
		"an empty batch":                    {`[]`, nil},
		"a batch of what is none":           {`[1,"x",null,[{"id":1,"method":"a"}]]`, nil},
		"no object":                         {`"x"`, nil},
		"what is not JSON":                  {`{"id":1,"method":"a"`, nil},
		"two values":                        {`{"id":1,"method":"a"}{}`, nil},
		"nothing":                           {"", nil},
		"params that are no object":         {`{"id":1,"method":"tools/call","params":[1]}`, []rpcMessage{call("1", "", "")}},
		"a version that the request claims": {`{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []rpcMessage{{ID: json.RawMessage("1"), Method: "a", ProtocolVersion: "2026-07-28"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, overlong, _ := parseMessages([]byte(tt.body))
			if diff := cmp.Diff(tt.want, got); overlong || diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzMembers holds the scanner against encoding/json.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":[1,"}"]},"a":"\u0061"}`, `[{"a":[]},2]`, `{}`, `[]`, ` { "é" : null } `, `"x"`, `{"":""}`, `{"\ud800":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := map[string]string{}
		for name, value := range members(b) {
			got[name] = string(value)
		}
		var list []string
		for item := range items(b) {
			list = append(list, string(item))
		}
		if !json.Valid(b) {
			return // It must only come to an end.
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) == nil {
			for name, value := range want {
				if got[name] != string(value) {
					t.Errorf("%s: %q is %q, want %q", b, name, got[name], value)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d members, want %d", b, len(got), len(want))
			}
		}
		var all []json.RawMessage
		if json.Unmarshal(b, &all) == nil && len(all) != len(list) {
			t.Errorf("%s: %d items, want %d", b, len(list), len(all))
		}
		for i := range all {
			if list[i] != string(all[i]) {
				t.Errorf("%s: item %d is %q, want %q", b, i, list[i], all[i])
			}
		}
	})
}

// eventLines are the lines of a stream of events, with their ends.
var eventLines = regexp.MustCompile(`[^\r\n]*(\r\n|\r|\n)|[^\r\n]+$`)

// FuzzEvents cuts a stream into pieces: whatever they are, what passes and what
// is told are the same, and no answer passes before it has its entry.
func FuzzEvents(f *testing.F) {
	told := toldIn(called("web", "search", audit.Success))
	for _, stream := range []string{
		eventOf(`{"method":"x"}`) + told + eventOf(resultOf("1")), "data: a\r\n\r\n" + told + "data: b\r\r", ": ping\n\n" + audit.EventPrefix + "x\n\n", audit.EventPrefix, "data",
		byteOrderMark + told + "data: a\r\n\r\n", "data: a\r" + told + "\r\r\n", audit.EventPrefix + "x\r\ndata\r\n", "\ufeff\ufeffdata: a\n\n", "\xef\xbb",
	} {
		f.Add(stream, 1, true)
		f.Add(stream, 7, false)
	}
	f.Fuzz(func(t *testing.T, stream string, piece int, calls bool) {
		if piece < 1 || len(stream) > maxEvent {
			return
		}
		whole, wholeTold := runEvents(t, stream, len(stream)+1, calls)
		cut, cutTold := runEvents(t, stream, piece, calls)
		if whole != cut || wholeTold != cutTold {
			t.Errorf("in pieces of %d: %q and %q told, want %q and %q", piece, cut, cutTold, whole, wholeTold)
		}
		var want strings.Builder
		for _, line := range eventLines.FindAllString(strings.TrimPrefix(stream, byteOrderMark), -1) {
			if !strings.HasPrefix(line, audit.EventPrefix) {
				want.WriteString(line)
			}
		}
		if whole != want.String() {
			t.Errorf("%q passed, want %q", whole, want.String())
		}
	})
}

func TestArgumentsAreNamedAsByTheDecoder(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"z":1`)
	for i := range 100 {
		fmt.Fprintf(&many, `,"k%d":{"deep":%d}`, i, i)
	}
	for _, object := range []string{
		"", "null", "{}", "[1]", `"x"`, `{"b":1,"a":[{"c":1}],"b":2}`, `{"n\u0061me":1,"a b":2,"\ud800":3,"":4}`, many.String() + "}", ` { "x" : 1 } `,
	} {
		if diff := cmp.Diff(audit.Keys(json.RawMessage(object)), keysOf(json.RawMessage(object)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", object, diff)
		}
	}
}
