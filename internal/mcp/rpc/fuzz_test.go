// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzRead looks for texts that are read otherwise than by encoding/json, for answers that are taken for valid
// but have no outcome, and for replacements that the SDK cannot read.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, `{"jsonrpc":"2.0","id":null,"result":null,"error":null}`,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"1.0","id":[],"result":{}}`, `[{}]`, `[]`, `[1,{"a":[]}]`,
		`{"jsonrpc":`, `{} {}`, `{"jsonrpc":"2.0","id":7,"error":null}`, `{"jsonrpc":"2.0","method":"m","params":[1]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid, start := json.Valid(text), bytes.TrimLeft(text, " \t\r\n")
		m, ok := Read(text)
		if ok != (valid && start[0] == '{') {
			t.Fatalf("%q is an object: %t", text, ok)
		}
		each, array := Batch(text)
		var parts []json.RawMessage
		if array != (valid && start[0] == '[') || array && (json.Unmarshal(text, &parts) != nil || len(parts) != len(each)) {
			t.Fatalf("%q is an array: %t, of %d", text, array, len(each))
		}
		for i := range parts {
			if !bytes.Equal(each[i], parts[i]) {
				t.Fatalf("%q has the item %q", text, each[i])
			}
		}
		if !ok {
			return
		}
		same(t, text, m)
		if fault := m.FaultFor(json.RawMessage("7")); fault != "" {
			replaced, err := jsonrpc.DecodeMessage(Answer(json.RawMessage("7"), nil, InvalidAnswer(fault)))
			if answer, ok := replaced.(*jsonrpc.Response); err != nil || !ok || answer.Error == nil || answer.ID.Raw() != any(int64(7)) {
				t.Fatalf("%q is replaced by %v, %v", text, replaced, err)
			}
			return
		}
		if m.Failure() == nil && !json.Valid(m.Result) {
			t.Fatalf("%q has the result %q", text, m.Result)
		}
	})
}

// same compares the parts of a message with those that encoding/json finds. Of a member that is there twice
// both have the last one; an id that is there twice is none.
func same(t *testing.T, text []byte, m Message) {
	t.Helper()
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return // It refuses more than json.Valid does.
	}
	for name, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result} {
		want := parts[name]
		if name == "id" && got == nil && (string(want) == "null" || m.Request || m.Fault != "") {
			continue
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%q has %s %q, want %q", text, name, got, want)
		}
	}
	if _, ok := parts["method"]; ok != m.Request {
		t.Fatalf("%q is a request: %t", text, m.Request)
	}
}
