// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var exported = cmpopts.IgnoreUnexported(Message{})

func TestAMessageIsReadAsItWasSent(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for name, tt := range map[string]struct {
		text string
		want Message
	}{
		"a request": {
			`{"jsonrpc":"2.0","id":9007199254740993,"method":"a\/b","params":{"n":1.50, "n":2}}`,
			Message{ID: raw("9007199254740993"), Method: "a/b", Params: raw(`{"n":1.50, "n":2}`), Request: true},
		},
		"one with an id that is a text": {`{"id":"a\/b","method":"m"}`, Message{ID: raw(`"a\/b"`), Method: "m", Request: true}},
		"a notification":                {` {"jsonrpc":"2.0","method":"m"} `, Message{Method: "m", Request: true}},
		"one with a null id":            {`{"jsonrpc":"2.0","id":null,"method":"m"}`, Message{Method: "m", Request: true}},
		"one whose method is no text":   {`{"jsonrpc":"2.0","id":1,"method":7}`, Message{ID: raw("1"), Request: true}},
		"a method beside a result":      {`{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, Message{ID: raw("1"), Method: "m", Result: raw("1"), Request: true}},
		"a result":                      {`{"jsonrpc":"2.0","id":1,"result":{"n":1e400}}`, Message{ID: raw("1"), Result: raw(`{"n":1e400}`)}},
		"a null result":                 {`{"jsonrpc":"2.0","id":1,"result":null}`, Message{ID: raw("1"), Result: raw("null")}},
		"a null error beside a result":  {`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, Message{ID: raw("1"), Result: raw("{}")}},
		"a null result beside an error": {`{"jsonrpc":"2.0","id":1,"result":null,"error":{}}`, Message{ID: raw("1"), Result: raw("null"), Error: raw("{}")}},
		"an error":                      {`{"error":{"code":1},"id":1,"jsonrpc":"2.0"}`, Message{ID: raw("1"), Error: raw(`{"code":1}`)}},
		"names are exact":               {`{"jsonrpc":"2.0","ID":2,"id":1,"Method":"m","result":1}`, Message{ID: raw("1"), Result: raw("1")}},
		"other members are passed over": {`{"jsonrpc":"2.0","id":1,"result":1,"x":{"id":2,"id":3}}`, Message{ID: raw("1"), Result: raw("1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := Read([]byte(tt.text))
			if diff := cmp.Diff(tt.want, got, exported); diff != "" || !ok {
				t.Errorf("read %t, message (-want +got):\n%s", ok, diff)
			}
		})
	}
	for _, text := range []string{"", " ", "7", `"text"`, "null", "[]", "[{}]", "{", `{"id":1`, `{"id":}`, "{} {}", "{}x", "nonsense"} {
		if m, ok := Read([]byte(text)); ok {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
}

func TestWhatIsWrongWithAnAnswerIsSaid(t *testing.T) {
	t.Parallel()
	const failed = `"error":{"code":1,"message":"m"}`
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                             "",
		`{"jsonrpc":"2.0","id":7.0,"result":{}}`:                           "",
		`{"jsonrpc":"2.0","id":0.7e1,"result":{}}`:                         "",
		`{"jsonrpc":"2.0","id":7,` + failed + `}`:                          "",
		`{"jsonrpc":"2.0","id":7,"result":null,` + failed + `}`:            "",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":null}`:                "",
		`{"jsonrpc":"2.0","id":7,"result":null,"error":null}`:              "",
		`{"jsonrpc":"2.0","id":7,"result":{},"x":1,"x":{"jsonrpc":"1.0"}}`: "",
		`{"jsonrpc":"2.0","id":7,"method":"m"}`:                            "it is a request",
		`{"jsonrpc":"2.0","method":"m"}`:                                   "it is a request",
		`{"id":7,"result":{}}`:                                             `it has no "jsonrpc"`,
		`{"jsonrpc":"1.0","id":7,"result":{}}`:                             `its "jsonrpc" is not "2.0"`,
		`{"jsonrpc":2.0,"id":7,"result":{}}`:                               `its "jsonrpc" is not "2.0"`,
		`{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"result":{}}`:             `it has the member "jsonrpc" twice`,
		`{"jsonrpc":"2.0","id":7,"id":7,"result":{}}`:                      `it has the member "id" twice`,
		`{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`:                 `it has the member "result" twice`,
		`{"jsonrpc":"2.0","id":7,` + failed + `,` + failed + `}`:           `it has the member "error" twice`,
		`{"jsonrpc":"2.0","id":7,"result":{},` + failed + `}`:              "it has both a result and an error",
		`{"jsonrpc":"2.0","id":7}`:                                         "it has neither a result nor an error",
		`{"jsonrpc":"2.0","id":7,"error":null}`:                            "it has neither a result nor an error",
		`{"jsonrpc":"2.0","result":{}}`:                                    "it has no id",
		`{"jsonrpc":"2.0","id":null,` + failed + `}`:                       "it has no id",
		`{"jsonrpc":"2.0","id":8,"result":{}}`:                             "its id is not that of the request",
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                           "its id is not that of the request",
		`{"jsonrpc":"2.0","id":7.5,"result":{}}`:                           "its id is not that of the request",
		`{"jsonrpc":"2.0","id":[7],"result":{}}`:                           "its id is not that of the request",
	} {
		m, ok := Read([]byte(text))
		if got := m.FaultFor(json.RawMessage("7")); !ok || got != want {
			t.Errorf("%s: fault = %q, want %q", text, got, want)
		}
	}
	for request, answer := range map[string]string{`"a"`: `"a"`, "9007199254740993": "9007199254740993.0"} {
		m, _ := Read([]byte(`{"jsonrpc":"2.0","id":` + answer + `,"result":{}}`))
		if got := m.FaultFor(json.RawMessage(request)); got != "" {
			t.Errorf("the answer %s to the request %s: %s", answer, request, got)
		}
	}
	m, _ := Read([]byte(`{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`))
	if m.FaultFor(json.RawMessage("9007199254740993")) == "" {
		t.Error("an id that is near the request's is taken for it")
	}
}

// TestOnlyWhatSaysSoIsMeantAsAnAnswer: programs also log JSON.
func TestOnlyWhatSaysSoIsMeantAsAnAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ answer, versioned bool }{
		`{"jsonrpc":"2.0","id":7,"result":{}}`: {true, true},
		`{"jsonrpc":"1.0","result":{}}`:        {true, true},
		`{"jsonrpc":"2.0","error":null}`:       {true, true},
		`{"jsonrpc":"2.0","id":7}`:             {true, true},
		`{"jsonrpc":"2.0","id":null}`:          {false, true},
		`{"jsonrpc":"2.0"}`:                    {false, true},
		`{"jsonrpc":"2.0","method":"m"}`:       {false, true},
		`{"level":"info","id":7}`:              {false, false},
		`{"result":1}`:                         {false, false},
		`{}`:                                   {false, false},
	} {
		m, ok := Read([]byte(text))
		if !ok || m.IsAnswer() != want.answer || m.Versioned() != want.versioned {
			t.Errorf("%s: an answer %t, versioned %t", text, m.IsAnswer(), m.Versioned())
		}
	}
}

func TestABatchIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		` [{"a":1}, 7 ,"x"]`: {`{"a":1}`, "7", `"x"`},
		"\n[ ]\t":            nil,
		"[[1],[2]]":          {"[1]", "[2]"},
	} {
		each, ok := Batch([]byte(text))
		var got []string
		for _, one := range each {
			got = append(got, string(one))
		}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%q: read %t, messages (-want +got):\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{"", "{}", "7", "[", "[1", "[1,]", "[1]x", "[] []", `"[]"`} {
		if each, ok := Batch([]byte(text)); ok {
			t.Errorf("%q is read as %q", text, each)
		}
	}
}

func TestTheBeginningOfAMessageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ id, method string }{
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{}}`: {"7", "m"},
		`{"id":"a","method":"m"}`:                           {`"a"`, "m"},
		`{"jsonrpc":"2.0","method":"m"}`:                    {"", "m"},
		`{"jsonrpc":"2.0","method":"m","id":7}`:             {"", "m"},
		`{"jsonrpc":"2.0","id":7,"result":{}}`:              {"7", ""},
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a`: {"7", "m"},
		`{"params":{},"id":7,"method":"m"}`:                 {"", ""},
		`[{"id":7}]`:                                        {"", ""},
		`{"id":7`:                                           {"7", ""},
		``:                                                  {"", ""},
	} {
		if id, method := Head([]byte(text)); string(id) != want.id || method != want.method {
			t.Errorf("%s: id %s, method %q", text, id, method)
		}
	}
}
