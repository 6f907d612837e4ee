// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestTheSDKChangesNoIDThatIsKept(t *testing.T) {
	for _, id := range []string{`9007199254740992`, `9007199254740993`, `-1`, `-0`, `1.0`, `1.5`, `1e3`, `1e400`, `""`, `"é"`, `"\u00e9"`, `"<"`, "\"\u2028\"", "\"\xff\""} {
		for _, format := range []string{`{"jsonrpc":"2.0","id":ID,"method":"m"}`, `{"params":{"id":1},"method":"m","id":ID,"jsonrpc":"2.0"}`} {
			m, err := jsonrpc.DecodeMessage(KeepIDs([]byte(filled(format, id))))
			if err != nil {
				t.Errorf("%s: %v", id, err)
				continue
			}
			request, ok := m.(*jsonrpc.Request)
			if !ok {
				t.Fatalf("a %T", m)
			}
			text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: request.ID, Result: json.RawMessage(`{}`)})
			if got, want := string(ShowIDs(text)), filled(`{"jsonrpc":"2.0","id":ID,"result":{}}`, id); err != nil || got != want {
				t.Errorf("%s: %s, %v", id, got, err)
			}
		}
	}
}

func TestKeptMessages(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		same bool
	}{
		"a usual request":      {`{"jsonrpc":"2.0","id":7,"method":"m"}`, true},
		"an answer":            {`{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`, true},
		"a notification":       {`{"jsonrpc":"2.0","method":"m","params":{"requestId":1.5}}`, true},
		"a usual cancellation": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, true},
		"a cancellation":       {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0,"reason":"r"}}`, false},
		"a batch":              {`[{"jsonrpc":"2.0","id":1.0,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]`, false},
		"a usual batch":        {` [ {"jsonrpc":"2.0","id":1,"method":"m"} ]`, true},
		"a null id":            {`{"jsonrpc":"2.0","id":null,"method":"m"}`, true},
		"no JSON":              {`{"jsonrpc":"2.0","id":1.0,"method":"m"`, true},
		"nothing":              {``, true},
	} {
		kept := KeepIDs([]byte(tt.text))
		if (string(kept) == tt.text) != tt.same {
			t.Errorf("%s: %s", name, kept)
		}
		var before, after any
		_, _ = json.Unmarshal([]byte(tt.text), &before), json.Unmarshal(ShowIDs(kept), &after)
		a, _ := json.Marshal(before)
		if b, _ := json.Marshal(after); string(a) != string(b) {
			t.Errorf("%s: %s is shown as %s", name, a, b)
		}
	}
}

func FuzzIDs(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1.0,"method":"m"}`)
	f.Add(`[{"method":"notifications/cancelled","params":{"requestId":"\u0041"}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after any
		kept := KeepIDs([]byte(text))
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal(ShowIDs(kept), &after); err != nil {
			t.Fatalf("%s became %s", text, kept)
		}
		a, _ := json.Marshal(before)
		if b, _ := json.Marshal(after); string(a) != string(b) {
			t.Errorf("%s is shown as %s", a, b)
		}
	})
}

func filled(format, id string) string { return strings.Replace(format, "ID", id, 1) }
