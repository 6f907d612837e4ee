// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

func TestTheRequestsInABody(t *testing.T) {
	request := func(id, method string) Request {
		return Request{ID: json.RawMessage(id), Method: method}
	}
	call := func(id, tool, arguments string) Request {
		m := request(id, "tools/call")
		m.Tool = tool
		if arguments != "" {
			m.Arguments = json.RawMessage(arguments)
		}
		return m
	}
	tests := map[string]struct {
		body string
		want []Request
	}{
		"a request":                         {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []Request{request("1", "ping")}},
		"white space everywhere":            {" \n{ \"id\" :\t\"a b\" , \"method\" : \"ping\" } ", []Request{request(`"a b"`, "ping")}},
		"a tool call":                       {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"q":"canary"}}}`, []Request{call("7", "search", `{"q":"canary"}`)}},
		"a tool with an escaped name":       {`{"id":1,"method":"tools\/call","params":{"n\u0061me":"se\u0061rch"}}`, []Request{call("1", "search", "")}},
		"a batch":                           {`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"result":{}},{"id":3,"method":"b"}]`, []Request{request("1", "a"), request("3", "b")}},
		"an id that is null":                {`{"id":null,"method":"ping"}`, []Request{request("null", "ping")}},
		"names that differ in case":         {`{"ID":1,"Method":"ping","id":2,"method":"a"}`, []Request{request("2", "a")}},
		"a name that stands twice":          {`{"id":1,"id":2,"method":"a","method":"b"}`, []Request{request("2", "b")}},
		"braces and quotes in strings":      {`{"x":"}\"]{[\\","id":1,"method":"a"}`, []Request{request("1", "a")}},
		"a name of a method that has none":  {`{"id":1,"method":"prompts/get","params":{"name":"p","arguments":{}}}`, []Request{request("1", "prompts/get")}},
		"a notification":                    {`{"method":"notifications/x"}`, nil},
		"a response":                        {`{"id":1,"result":{"method":"a"}}`, nil},
		"a method that is no string":        {`{"id":1,"method":5}`, nil},
		"a method without a name":           {`{"id":1,"method":""}`, []Request{request("1", "")}},
		"a method that is null":             {`{"id":1,"method":null}`, []Request{request("1", "")}},
		"an empty batch":                    {`[]`, nil},
		"a batch of what is none":           {`[1,"x",null,[{"id":1,"method":"a"}]]`, nil},
		"no object":                         {`"x"`, nil},
		"what is not JSON":                  {`{"id":1,"method":"a"`, nil},
		"two values":                        {`{"id":1,"method":"a"}{}`, nil},
		"nothing":                           {"", nil},
		"params that are no object":         {`{"id":1,"method":"tools/call","params":[1]}`, []Request{call("1", "", "")}},
		"a version that the request claims": {`{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []Request{{ID: json.RawMessage("1"), Method: "a", ProtocolVersion: "2026-07-28"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Parse([]byte(tt.body))
			if diff := cmp.Diff(tt.want, got.Requests); got.Overlong || diff != "" {
				t.Error(diff)
			}
		})
	}
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
		if diff := cmp.Diff(audit.Keys(json.RawMessage(object)), Keys(json.RawMessage(object)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", object, diff)
		}
	}
}
