// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestPlainMessagesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Message
	}{
		"a request": {
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,{"b":"}]\""}]}}}`,
			Message{ID: []byte(`7`), Method: []byte(`"tools/call"`), Params: []byte(`{"name":"t","arguments":{"a":[1,{"b":"}]\""}]}}`)},
		},
		"an answer, in another order and with space": {
			"{ \"result\" : { } ,\n\"id\":\"a-1\", \"jsonrpc\": \"2.0\" }\r\n",
			Message{ID: []byte(`"a-1"`), Result: []byte(`{ }`)},
		},
		"params of other types": {
			`{"jsonrpc":"2.0","id":0,"method":null,"params":true,"result":1.5e3}`,
			Message{ID: []byte(`0`), Method: []byte(`null`), Params: []byte(`true`), Result: []byte(`1.5e3`)},
		},
		"as deep as may be": {
			`{"jsonrpc":"2.0","id":-1,"result":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
			Message{ID: []byte(`-1`), Result: []byte(strings.Repeat("[", 999) + strings.Repeat("]", 999))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Parse([]byte(c.text))
			if !ok || !same(got, c.want) {
				t.Errorf("got %s, %v", got, ok)
			}
		})
	}
}

func TestOddMessagesAreNot(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                ``,
		"a batch":                `[{"jsonrpc":"2.0","id":7,"method":"m"}]`,
		"no id":                  `{"jsonrpc":"2.0","method":"m"}`,
		"an id of null":          `{"jsonrpc":"2.0","id":null,"method":"m"}`,
		"an id with a fraction":  `{"jsonrpc":"2.0","id":1.0,"method":"m"}`,
		"an id of many digits":   `{"jsonrpc":"2.0","id":1234567890123456,"method":"m"}`,
		"an id with an escape":   `{"jsonrpc":"2.0","id":"\u0061","method":"m"}`,
		"an empty id":            `{"jsonrpc":"2.0","id":"","method":"m"}`,
		"another version":        `{"jsonrpc":"1.0","id":1,"method":"m"}`,
		"no version":             `{"id":1,"method":"m"}`,
		"an escaped version":     `{"jsonrpc":"2\u002e0","id":1,"method":"m"}`,
		"a member twice":         `{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`,
		"another member":         `{"jsonrpc":"2.0","id":1,"method":"m","x":1}`,
		"an error":               `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`,
		"a name with an escape":  `{"jsonrpc":"2.0","id":1,"m\u0065thod":"m"}`,
		"a name in capitals":     `{"jsonrpc":"2.0","ID":1,"method":"m"}`,
		"more behind it":         `{"jsonrpc":"2.0","id":1,"method":"m"} {}`,
		"less than all":          `{"jsonrpc":"2.0","id":1,"method":"m"`,
		"too deep":               `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		"text":                   `"jsonrpc"`,
		"nothing in it":          `{}`,
		"a byte that is no JSON": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x01\"}",
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := Parse([]byte(text)); ok {
				t.Errorf("got %s", got)
			}
		})
	}
}

// FuzzParse compares with the SDK, which must read all that is plain in the same
// way.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,{"b":"}]\""}]}}}`,
		"{ \"result\" : { } ,\n\"id\":\"a-1\", \"jsonrpc\": \"2.0\" }\r\n",
		`{"jsonrpc":"2.0","id":-10,"method":"m","params":[1,2],"result":null}`,
		`{"jsonrpc":"2.0","id":1,"ID":2,"method":"m","Method":"n"}`,
		`{"jsonrpc":"2.0","id":1,"result":"\\\"}"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := Parse(b)
		if !ok {
			return
		}
		read, err := jsonrpc.DecodeMessage(b)
		switch r := read.(type) {
		case *jsonrpc.Request:
			got, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.ID})
			if err != nil {
				t.Fatal(err)
			}
			again, _ := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: idOf(t, m)})
			if string(got) != string(again) || string(r.Params) != string(m.Params) || m.Method == nil {
				t.Errorf("the SDK reads %+v of %s, and this %s", r, b, m)
			}
		case *jsonrpc.Response:
			if m.Method != nil || string(r.Result) != string(m.Result) || r.ID != idOf(t, m) {
				t.Errorf("the SDK reads %+v of %s, and this %s", r, b, m)
			}
		default:
			// A method of another type than text is the one thing that is left.
			if m.Method == nil || m.Method[0] == '"' {
				t.Errorf("the SDK does not read %s: %v", b, err)
			}
		}
	})
}

// idOf returns the id as the SDK has it.
func idOf(t *testing.T, m Message) jsonrpc.ID {
	t.Helper()
	id, ok := m.RequestID()
	if !ok {
		t.Fatalf("%s is no id", m.ID)
	}
	made, err := jsonrpc.MakeID(id)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func same(a, b Message) bool {
	return string(a.ID) == string(b.ID) && string(a.Method) == string(b.Method) &&
		string(a.Params) == string(b.Params) && string(a.Result) == string(b.Result)
}
