// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// notPlain are bodies that two readers may take for different messages.
var notPlain = map[string]string{
	"nothing":                        "",
	"what is not JSON":               "x",
	"a message that is cut":          `{"jsonrpc":"2.0","id":1,"method":"tools/call"`,
	"something behind it":            callOf("1", "search") + " x",
	"another value behind it":        `{"jsonrpc":"2.0","method":"notifications/x"}` + callOf("1", "search"),
	"something behind a batch":       "[" + callOf("1", "search") + "]]",
	"a mark of the byte order":       "\ufeff" + callOf("1", "search"),
	"a zero byte behind it":          callOf("1", "search") + "\x00",
	"a method that stands twice":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}`,
	"one that is escaped":            `{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`,
	"one in other letters":           `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`,
	"one in letters that fold":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","param` + "\u017f" + `":{"name":"x"}}`,
	"an id that stands twice":        `{"jsonrpc":"2.0","id":1,"id":null,"method":"tools/call"}`,
	"an id in other letters":         `{"jsonrpc":"2.0","ID":1,"method":"tools/call"}`,
	"params that stand twice":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}`,
	"a tool that stands twice":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`,
	"a tool in other letters":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
	"arguments before the method":    `{"params":{"arguments":{},"Arguments":{}},"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
	"a version that stands twice":    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}}}`,
	"one message of a batch":         `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping","METHOD":"tools/call"}]`,
	"the same in the last message":   `[` + callOf("1", "a") + `,` + callOf("1", "b") + `,{"id":1,"id":2}]`,
	"a notification that may be one": `{"jsonrpc":"2.0","method":"notifications/x","Id":1}`,
}

// plain are others that look like them.
var plain = map[string]string{
	"a call":                       callOf("1", "search"),
	"white space around it":        " \r\n\t" + callOf("1", "search") + "\n",
	"a batch":                      "[" + callOf("1", "search") + "," + callOf("1", "search") + "]",
	"arguments as they are":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"ID":1,"id":1,"name":2,"Name":3}}}`,
	"params of another method":     `{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":1,"Name":2}}`,
	"members that nobody knows":    `{"jsonrpc":"2.0","id":1,"method":"x","trace":1,"Trace":2}`,
	"a response":                   `{"jsonrpc":"2.0","id":1,"result":{"id":1,"Id":2,"method":3}}`,
	"a value that is no message":   `5`,
	"a method that has no name":    `{"jsonrpc":"2.0","id":1,"method":""}`,
	"one whose name is not a name": `{"jsonrpc":"2.0","id":1,"method":null}`,
}

func TestOnlyBodiesPassThatABridgeCannotReadDifferently(t *testing.T) {
	var arrived atomic.Int64
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		answers(isJSON, resultOf("1"))(rw, r)
	})
	for name, body := range notPlain {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/u/alice/mcp", "/u/alice/sse?sessionid=s.1"} {
				got := w.do(w.request("POST", path, alice, body))
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, "message_invalid") {
					t.Errorf("%s: %d %s", path, got.status, got.body)
				}
				if strings.HasSuffix(path, "/mcp") && (!strings.Contains(got.body, `"code":-32700`) || strings.Contains(got.body, `"id"`)) {
					t.Errorf("%s: %s", path, got.body)
				}
			}
		})
	}
	if n := arrived.Load(); n != 0 {
		t.Errorf("%d reached the bridge", n)
	}
	for name, body := range plain {
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, body)); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func TestACallWithSomethingBehindItIsNotFree(t *testing.T) {
	w, alice := ofTier(t, func(tier *quota.Tier) { tier.Burst, tier.PerMinute = 1, 1 }, answers(isJSON, resultOf("1")))
	for range 5 {
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search")+" x")); got.status != http.StatusBadRequest {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// FuzzMessages holds the ingress against the decoder of the SDK by which bridges
// read: of a body that passes, both find the same calls.
func FuzzMessages(f *testing.F) {
	for _, bodies := range []map[string]string{notPlain, plain} {
		for _, body := range bodies {
			f.Add([]byte(body))
		}
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":"a","method":"tools\/call","params":{"n\u0061me":"se\u0061rch"}}`, `{"jsonrpc":"2.0","id":1.5e3,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call"}`, `[1,null,[{}]]`, `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud83d\ude00","arguments":null}}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x80\"}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		batch := jsonrpc.Parse(body)
		if batch.Overlong || !batch.Plain {
			return // It does not pass.
		}
		var found []jsonrpc.Request
		for _, m := range batch.Requests {
			if string(m.ID) != "null" { // The SDK takes it for a notification.
				found = append(found, m)
			}
		}
		requests, ok := readAsBridges(body)
		if !ok {
			return // The SDK refuses all of it.
		}
		if len(found) != len(requests) {
			t.Fatalf("%d requests, and the SDK finds %d: %q", len(found), len(requests), body)
		}
		for i, r := range requests {
			if found[i].IsToolCall() != (r.Method == methods.CallTool) {
				t.Errorf("method %q, and the SDK finds %q: %q", found[i].Method, r.Method, body)
			}
			if !found[i].IsToolCall() || !utf8.Valid(body) {
				continue
			}
			var params struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(r.Params, &params) == nil && params.Name != found[i].Tool {
				t.Errorf("tool %q, and the SDK finds %q: %q", found[i].Tool, params.Name, body)
			}
		}
	})
}

// readAsBridges returns the requests that the SDK finds in a body, as it reads
// one: a batch is an array, and what it cannot read in it makes it refuse all.
func readAsBridges(body []byte) (requests []*sdk.Request, ok bool) {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		batch = []json.RawMessage{body}
	}
	for _, message := range batch {
		m, err := sdk.DecodeMessage(message)
		if err != nil {
			return nil, false
		}
		if r, is := m.(*sdk.Request); is && r.IsCall() {
			requests = append(requests, r)
		}
	}
	return requests, true
}

func FuzzRPCID(f *testing.F) {
	f.Add([]byte(toolCall))
	f.Add([]byte(`{"id":"\u0000","method":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		id := jsonrpc.ID(body)
		if len(id) > 256 {
			t.Errorf("id of %d bytes", len(id))
		}
		answer := encodeRPC(problems.NotFound, id, nil)
		if !json.Valid(answer) {
			t.Errorf("the answer is not JSON: %s", answer)
		}
	})
}
