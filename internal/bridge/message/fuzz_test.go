// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// FuzzOutgoing looks for parameters of clients that a server gets otherwise than they were sent.
func FuzzOutgoing(f *testing.F) {
	f.Add([]byte(`{"name":"t","arguments":{"a":1.0},"_meta":{},"inputResponses":{"q":{"action":"accept"}},"requestState":""}`))
	f.Add([]byte(`{"name":"\u0074","_meta":{"progressToken":9007199254740993},"task":null}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		sent, err := jsondoc.CanonicalExact(params)
		typed := &mcp.CallToolParamsRaw{}
		if err != nil || jsonv2.Unmarshal(withoutAnswers(methods.CallTool, params), typed) != nil {
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
