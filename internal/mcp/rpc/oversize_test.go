// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheRequestIsFoundThatAMessageAnswers(t *testing.T) {
	tests := map[string]struct{ message, id string }{
		"the id first":                          {`{"jsonrpc":"2.0","id":7,"result":{"id":8}}`, `7`},
		"the id last":                           {`{"result":{"id":8,"method":"x","a":[{"id":1}]},"jsonrpc":"2.0", "id" : 12 }`, `12`},
		"the id in the middle":                  {"{\"jsonrpc\":\"2.0\",\n \"id\": 3 ,\n\"result\":{}}", `3`},
		"an id that is a text":                  {`{"id":"a\"},{","result":1}`, `"a\"},{"`},
		"texts with braces":                     {`{"result":{"t":"}]\"}{\\"},"id":5}`, `5`},
		"an escaped name":                       {`{"result":"x","\u0069d":6}`, `6`},
		"an error":                              {`{"error":{"code":1,"message":"m"},"id":4}`, `4`},
		"no id":                                 {`{"jsonrpc":"2.0","result":{"id":8}}`, ``},
		"an id of null":                         {`{"id":null,"error":{}}`, ``},
		"a request":                             {`{"id":1,"method":"roots/list"}`, ``},
		"a notification":                        {`{"method":"notifications/message","params":{"id":1}}`, ``},
		"a name that only begins like it":       {`{"idx":1,"result":{}}`, ``},
		"an id that is longer than any of ours": {`{"id":"` + fmt.Sprintf("%0100d", 1) + `","result":{}}`, ``},
		"nothing":                               {``, ``},
		"a list":                                {`[{"id":1,"result":{}}]`, ``},
		"what ends too early":                   {`{"id":1,"result":{"a":`, `1`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{1, 3, len(tt.message) + 1} {
				m := &Oversize{}
				for rest := []byte(tt.message); len(rest) > 0; {
					n := min(step, len(rest))
					if written, err := m.Write(rest[:n]); written != n || err != nil {
						t.Fatal(written, err)
					}
					rest = rest[n:]
				}
				answer := m.Answer(MaxAnswer)
				if tt.id == "" {
					if answer != nil {
						t.Errorf("answer = %s, want none", answer)
					}
					continue
				}
				want := `{"jsonrpc":"2.0","id":` + tt.id + `,"error":{"code":-32603,"message":"the server's answer is larger than 16 MiB","data":{"code":"answer_too_large"}}}`
				var got, wanted any
				if err := json.Unmarshal(answer, &got); err != nil {
					t.Fatalf("answer = %s: %v", answer, err)
				}
				must.Succeed(t, json.Unmarshal([]byte(want), &wanted))
				if fmt.Sprint(got) != fmt.Sprint(wanted) {
					t.Errorf("answer = %s, want %s", answer, want)
				}
			}
		})
	}
}

func FuzzOversize(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"id":8}}`))
	f.Add([]byte(`{"id":"x","a":"\"","b":[{}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := &Oversize{}
		_, _ = m.Write(in)
		answer := m.Answer(MaxAnswer)
		if answer != nil && !json.Valid(answer) {
			t.Errorf("answer = %s", answer)
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(in, &fields) != nil || fields["method"] != nil || answer == nil {
			return
		}
		if fields["id"] == nil {
			t.Errorf("an id was found in %s", in)
		}
	})
}
