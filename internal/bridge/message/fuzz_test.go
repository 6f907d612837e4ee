// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// FuzzReadIncoming looks for answers that are taken for valid but are none for the SDK, and for
// replacements that the SDK cannot read.
func FuzzReadIncoming(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, `{"jsonrpc":"2.0","id":null,"result":null,"error":null}`,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"1.0","id":[],"result":{}}`, `[{}]`, `{"jsonrpc":`, `{} {}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, ok := ReadIncoming(text)
		if ok != (json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))) && json.Valid(text) {
			t.Fatalf("%q is an object: %v", text, ok)
		}
		if !ok || m.Request {
			return
		}
		if m.Fault != "" || m.FaultFor(json.RawMessage("7")) != "" {
			replaced, err := jsonrpc.DecodeMessage(InvalidAnswerTo(json.RawMessage("7"), m.FaultFor(json.RawMessage("7"))))
			if answer, ok := replaced.(*jsonrpc.Response); err != nil || !ok || answer.Error == nil || answer.ID.Raw() != any(int64(7)) {
				t.Fatalf("%q is replaced by %v, %v", text, replaced, err)
			}
			return
		}
		if !json.Valid(m.Result) && !m.Failed {
			t.Fatalf("%q has the result %q", text, m.Result)
		}
	})
}

// FuzzPack looks for parameters that are others after their way through the SDK.
func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"temperature":0,"stopSequences":[]}`), "1")
	f.Add([]byte(`{"a":"\ud800","b":1E400}`), "")
	f.Fuzz(func(t *testing.T, params []byte, call string) {
		if !json.Valid(params) || !bytes.Equal(bytes.ToValidUTF8(params, nil), params) || string(bytes.ToValidUTF8([]byte(call), nil)) != call {
			return
		}
		var typed mcp.CreateMessageWithToolsParams
		must.Succeed(t, json.Unmarshal(Pack(params, call, nil), &typed))
		if got := Unpack(&typed); !bytes.Equal(got.Raw, params) || got.Call != call {
			t.Fatalf("%q of %q are %q of %q", params, call, got.Raw, got.Call)
		}
	})
}

// FuzzOutgoing looks for parameters of clients that a server gets otherwise than they were sent.
func FuzzOutgoing(f *testing.F) {
	f.Add([]byte(`{"name":"t","arguments":{"a":1.0},"_meta":{},"inputResponses":{"q":{"action":"accept"}},"requestState":""}`))
	f.Add([]byte(`{"name":"\u0074","_meta":{"progressToken":9007199254740993},"task":null}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		sent, err := jsondoc.CanonicalExact(params)
		typed := &mcp.CallToolParamsRaw{}
		if err != nil || jsonv2.Unmarshal(ForSDK(methods.CallTool, params), typed) != nil {
			return // The SDK refuses them.
		}
		fields := objectOf(params)
		if meta, ok := fields["_meta"]; fields == nil || ok && objectOf(meta) == nil || string(fields["name"]) == "null" {
			return
		}
		q := &Request{Method: methods.CallTool, Params: typed, Sent: &Sent{Params: params}}
		q.ReadSent()
		raw := must.Value(json.Marshal(q.Outgoing(q.Meta)))(t)
		if got, err := jsondoc.CanonicalExact(raw); err != nil || got != sent {
			t.Fatalf("%s is sent as %s, %v", sent, got, err)
		}
	})
}
