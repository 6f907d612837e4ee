// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestInvalidAnswersOfProgramsAreErrors decodes what a program could mean as an answer. Without an
// id, the reader of the connection finds the request.
func TestInvalidAnswersOfProgramsAreErrors(t *testing.T) {
	for text, want := range map[string]struct{ id, says string }{
		`{"jsonrpc":"1.0","id":7,"result":{}}`:                                   {"7", `its "jsonrpc" is not "2.0"`},
		`{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`:                       {"7", `it has the member "result" twice`},
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"m"}}`:  {"7", "it has both a result and an error"},
		`{"jsonrpc":"2.0","result":{}}`:                                          {"", "it has no id"},
		`[{"jsonrpc":"2.0","id":7}]`:                                             {"7", "it has neither a result nor an error"},
		`{"jsonrpc":"2.0","id":"a","result":{},"x-future":{"jsonrpc":"1.0"}}`:    {`"a"`, ""},
		`{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":1,"message":""}}`: {"7", ""},
	} {
		all, err := decode([]byte(text))
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", text, all, err)
			continue
		}
		m := all[0]
		if m.Request || string(m.ID) != want.id {
			t.Errorf("%s: %+v, want the id %s", text, m, want.id)
		}
		if m.Fault != want.says {
			t.Errorf("%s: fault = %q, want %q", text, m.Fault, want.says)
		}
	}
	for _, noise := range []string{`{"level":"info","id":7}`, `{"result":1}`, "7", `"text"`, `{"jsonrpc":`} {
		if all, err := decode([]byte(noise)); err == nil {
			t.Errorf("%s is taken for %v", noise, all)
		}
	}
}

func TestTheIDOfAProgramsRequestIsKeptByteForByte(t *testing.T) {
	for _, id := range []string{`9007199254740993`, `1.50`, `"a\/b"`, `7`} {
		for _, text := range []string{`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, `[{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}]`} {
			if m := must.Value(decode([]byte(text)))(t)[0]; !m.Request || string(m.ID) != id {
				t.Errorf("%s is read as %+v", text, m)
			}
		}
	}
}
