// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestACancellationIsPassedInTheWordsOfItsSender(t *testing.T) {
	t.Parallel()
	const sent = `{"requestId":7,"reason":"context canceled"}`
	for name, tt := range map[string]struct{ words, want string }{
		"no cancellation": {"", sent},
		"other words":     {`{"requestId":"a","reason":"enough","x":1e2}`, `{"reason":"enough","requestId":7,"x":1e2}`},
		"no words":        {`{}`, `{"requestId":7}`},
		"no object":       {`[]`, sent},
	} {
		w := &Withdrawal{}
		if tt.words != "" {
			w.Set(json.RawMessage(tt.words))
		}
		if got := string(w.Merge(json.RawMessage(sent))); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if _, ok := w.Get(); ok != (tt.words != "") || WithdrawalOf(WithWithdrawal(t.Context(), w)) != w {
			t.Errorf("%s: cancelled: %t", name, ok)
		}
	}
	if WithdrawalOf(WithWithdrawal(t.Context(), nil)) != nil {
		t.Error("a question that cannot be cancelled is")
	}
}

func TestMetadataGoWithTheirLastKey(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"_meta":{"k":1,"other":2},"a":1}`: `{"_meta":{"other":2},"a":1}`,
		`{"_meta":{"k":1},"a":1}`:           `{"a":1}`,
		`{"_meta":{"other":2}}`:             `{"_meta":{"other":2}}`,
		`{"a":1E400}`:                       `{"a":1E400}`,
		`[]`:                                `[]`,
	} {
		if got := string(WithoutMeta(json.RawMessage(params), "k")); got != want {
			t.Errorf("%s without k is %s, want %s", params, got, want)
		}
	}
	p := &Params{Raw: json.RawMessage(`{"uri":"a:b","n":1}`)}
	if p.TextField("uri") != "a:b" || p.TextField("n") != "" || p.TextField("x") != "" {
		t.Error("a field that is no text is one")
	}
	if (*Params)(nil).OnWire() != nil || (&Params{}).OnWire() != nil || p.OnWire() != mcp.Params(p) {
		t.Error("parameters are sent that a message does not have")
	}
	if got := string(must.Value(json.Marshal(p))(t)); got != string(p.Raw) {
		t.Errorf("parameters are sent as %s", got)
	}
}

func TestAServersQuestionsAreReadFromItsResult(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]struct {
		asks, fails bool
		questions   int
		state       string
	}{
		`{"content":[]}`: {},
		`{"resultType":"input_required","requestState":"s"}`:                              {true, false, 0, "s"},
		`{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"x","params":[1]}}}`: {true, false, 2, ""},
		`{"inputRequests":{},"requestState":7}`:                                           {true, false, 0, ""},
		`{"inputRequests":7}`:                                                             {true, true, 0, ""},
	} {
		requests, state, asks, err := InputNeeded(json.RawMessage(result))
		if asks != want.asks || (err != nil) != want.fails || len(requests) != want.questions || state != want.state {
			t.Errorf("%s: %v, state %q, asks %t, %v", result, requests, state, asks, err)
		}
	}
}

func TestOnlyANumberWithAFractionIsRefusedAsAnID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{`1.5`: true, `-0.1`: true, `1e-1`: true, `1.0`: false, `1e3`: false, `7`: false, `"1.5"`: false, ``: false} {
		if IsFraction(json.RawMessage(id)) != want {
			t.Errorf("%s is a fraction: %t", id, !want)
		}
	}
}
