// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAMessageIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	failure := &jsonrpc.Error{Code: -32000, Message: `no "x" <&>`, Data: raw(`{"n":9007199254740993}`)}
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":7,"method":"m","params":{"n":1.50}}`:                                               Append(nil, raw("7"), "m", raw(`{"n":1.50}`)),
		`{"jsonrpc":"2.0","id":"a\/b","method":"m"}`:                                                              Append(nil, raw(`"a\/b"`), "m", nil),
		`{"jsonrpc":"2.0","method":"a\"<b>"}`:                                                                     Append([]byte{}, nil, `a"<b>`, nil),
		`x{"jsonrpc":"2.0","method":"m","params":[]}`:                                                             Append([]byte("x"), nil, "m", raw("[]")),
		`{"jsonrpc":"2.0","id":1.50,"result":{"n":1e400}}`:                                                        Answer(raw("1.50"), raw(`{"n":1e400}`), nil),
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no \"x\" <&>","data":{"n":9007199254740993}}}`: Answer(raw("7"), raw("{}"), failure),
	} {
		if string(got) != want {
			t.Errorf("written %s, want %s", got, want)
		}
	}
}

func TestTheErrorOfAnAnswerIsRead(t *testing.T) {
	t.Parallel()
	invalid := InvalidAnswer("its error is no object with a code and a message")
	for text, want := range map[string]*jsonrpc.Error{
		`{"code":-32000,"message":"no","data":{"n":1e400},"x":1}`: {Code: -32000, Message: "no", Data: json.RawMessage(`{"n":1e400}`)},
		`{"code":1,"message":""}`:                                 {Code: 1},
		`{}`:                                                      {},
		`null`:                                                    nil,
		`"no"`:                                                    invalid,
		`[]`:                                                      invalid,
		`{"code":"1","message":"no"}`:                             invalid,
		`{"code":1,"message":7}`:                                  invalid,
	} {
		m, ok := Read([]byte(`{"jsonrpc":"2.0","id":7,"error":` + text + `}`))
		if diff := cmp.Diff(want, m.Failure()); diff != "" || !ok {
			t.Errorf("%s: error (-want +got):\n%s", text, diff)
		}
	}
	if m, _ := Read([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)); m.Failure() != nil {
		t.Errorf("a result has the error %v", m.Failure())
	}
}

func TestAnInvalidAnswerBecomesAnErrorThatSaysSo(t *testing.T) {
	t.Parallel()
	const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is not a valid JSON-RPC answer: it has no id","data":{"code":"answer_invalid"}}}`
	if got := string(Answer(json.RawMessage("7"), nil, InvalidAnswer("it has no id"))); got != want {
		t.Errorf("it becomes %s", got)
	}
}

func TestABodyIsReadWhateverItsSenderAnnounced(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 10_000)
	for _, length := range []int64{-1, 0, 1, 10_000, 20_000, MaxAnswer, MaxAnswer + 1, 1 << 60} {
		got := must.Value(ReadAll(iotest.HalfReader(strings.NewReader(text)), length))(t)
		if string(got) != text {
			t.Errorf("announced as %d bytes: %d bytes are read", length, len(got))
		}
	}
	broken := errors.New("reset")
	if got, err := ReadAll(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 20_000); !errors.Is(err, broken) || string(got) != text {
		t.Errorf("%d bytes are read, %v", len(got), err)
	}
}
