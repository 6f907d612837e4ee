// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		body, id, method string
		answer, refused  bool
	}{
		"a request":                        {body: `{"jsonrpc":"2.0","id":1,"method":"m"}`, id: "1", method: "m"},
		"an id keeps its form":             {body: `{"jsonrpc":"2.0","id":12345678901234567890,"method":"m"}`, id: "12345678901234567890", method: "m"},
		"a notification":                   {body: `{"jsonrpc":"2.0","method":"m"}`, method: "m"},
		"null is no id":                    {body: `{"jsonrpc":"2.0","id":null,"method":"m"}`, method: "m"},
		"an answer":                        {body: `{"jsonrpc":"2.0","id":"a","result":{}}`, id: `"a"`, answer: true},
		"names in capitals are others":     {body: `{"jsonrpc":"2.0","ID":1,"method":"m"}`, method: "m"},
		"the last of several counts":       {body: `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, id: "2", method: "m"},
		"something behind it":              {body: `{"jsonrpc":"2.0","id":1,"method":"m"} {}`, refused: true},
		"nesting without end":              {body: `{"jsonrpc":"2.0","id":1,"method":"m","params":` + string(bytes.Repeat([]byte("["), 20_000)), refused: true},
		"an id that is an object":          {body: `{"jsonrpc":"2.0","id":{},"method":"m"}`, refused: true},
		"an id that is true":               {body: `{"jsonrpc":"2.0","id":true,"method":"m"}`, refused: true},
		"nothing but space":                {body: ` `, refused: true},
		"a list that does not end":         {body: `[{"jsonrpc":"2.0"`, refused: true},
		"a version that is a number":       {body: `{"jsonrpc":2.0,"id":1,"method":"m"}`, refused: true},
		"a method that is null":            {body: `{"jsonrpc":"2.0","id":1,"method":null}`, id: "1"},
		"space before and behind is as it": {body: " \n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n", id: "1", method: "m"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := parse([]byte(tt.body))
			if (err != nil) != tt.refused {
				t.Fatalf("error = %v, want one: %t", err, tt.refused)
			}
			if string(m.id) != tt.id || m.name != tt.method || m.answer != tt.answer {
				t.Errorf("message = %+v", m)
			}
		})
	}
}

// FuzzParse has the parser and the SDK read the same, where both read anything.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e2,"method":"\u0061","params":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parse(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q is no JSON", body)
		}
		if known, err := m.check(); err == nil && !known.Notification && known.In&methods.Modern != 0 {
			_ = m.metadata().check()
			if params, err := m.decode(); err == nil && params == nil {
				t.Errorf("%s has no parameters", m.name)
			}
		}
		theirs, err := jsonrpc.DecodeMessage(body)
		if err != nil {
			return // It reads less: such as text that is not UTF-8.
		}
		request, ok := theirs.(*jsonrpc.Request)
		if ok == m.answer {
			t.Fatalf("%q is a request for one alone", body)
		}
		if ok && (request.Method != m.name || request.IsCall() != (m.id != nil)) {
			t.Errorf("%q is read as %+v, and by the SDK as %+v", body, m, request)
		}
	})
}
