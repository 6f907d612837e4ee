// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestInvalidAnswersOfProgramsAreErrors decodes what a program could mean as an answer. Without an
// id, the reader of the connection finds the request.
func TestInvalidAnswersOfProgramsAreErrors(t *testing.T) {
	for text, want := range map[string]struct{ id, says string }{
		`{"jsonrpc":"1.0","id":7,"result":{}}`:                                   {"7", `its "jsonrpc" is not "2.0"`},
		`{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`:                       {"7", `it has the member "result" twice`},
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"m"}}`:  {"7", "it has both a result and an error"},
		`{"jsonrpc":"2.0","result":{}}`:                                          {`""`, "it has no id"},
		`[{"jsonrpc":"2.0","id":7}]`:                                             {"7", "it has neither a result nor an error"},
		`{"jsonrpc":"2.0","id":"a","result":{},"x-future":{"jsonrpc":"1.0"}}`:    {`"a"`, ""},
		`{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":1,"message":""}}`: {"7", ""},
	} {
		all, err := decode([]byte(text))
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", text, all, err)
			continue
		}
		m, ok := all[0].(*jsonrpc.Response)
		if !ok {
			t.Errorf("%s is a %T", text, all[0])
			continue
		}
		encoded, err := jsonrpc.EncodeMessage(m)
		if err != nil || !strings.Contains(string(encoded), `"id":`+want.id) {
			t.Errorf("%s: %s, %v, want the id %s", text, encoded, err, want.id)
		}
		if want.says != "" && (m.Error == nil || !strings.HasSuffix(m.Error.Error(), want.says)) {
			t.Errorf("%s: error = %v, want %q", text, m.Error, want.says)
		}
	}
	for _, noise := range []string{`{"level":"info","id":7}`, `{"result":1}`, "7", `"text"`, `{"jsonrpc":`} {
		if all, err := decode([]byte(noise)); err == nil {
			t.Errorf("%s is taken for %v", noise, all)
		}
	}
}

// TestTheIDOfAProgramsRequestComesBackByteForByte, also one that the SDK would change.
func TestTheIDOfAProgramsRequestComesBackByteForByte(t *testing.T) {
	for _, id := range []string{`9007199254740993`, `1.50`, `"a\/b"`, `7`} {
		for _, text := range []string{`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, `[{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}]`} {
			all := must.Value(decode([]byte(text)))(t)
			m, ok := all[0].(*jsonrpc.Request)
			if !ok {
				t.Fatalf("%s is a %T", text, all[0])
			}
			answer := must.Value(encode(&jsonrpc.Response{ID: m.ID, Result: []byte(`{}`)}))(t)
			if want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`; string(answer) != want {
				t.Errorf("the answer to %s is %s", text, answer)
			}
		}
	}
}
