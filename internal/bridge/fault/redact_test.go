// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// TestNoErrorTextHoldsASecret looks at each way in which an error is shown.
func TestNoErrorTextHoldsASecret(t *testing.T) {
	const canary = "c4n4ry-t0ken"
	view := grantedSecrets("r", "TOKEN", canary).Grant([]string{"TOKEN"})
	plain := errors.New("bad token " + canary)
	kinds := map[string]error{
		"a plain error":                 plain,
		"an error of the HTTP client":   &url.Error{Op: "Post", URL: "https://x", Err: plain},
		"an error with a URL":           errors.New("at https://x/" + canary),
		"an answer of the server":       &jsonrpc.Error{Code: -32000, Message: plain.Error(), Data: json.RawMessage(`"` + canary + `"`)},
		"an answer whose data is odd":   &jsonrpc.Error{Code: -32000, Message: plain.Error(), Data: json.RawMessage(canary)},
		"an answer in an error of ours": fmt.Errorf("tools/list: %w", &jsonrpc.Error{Code: -32000, Message: plain.Error()}),
	}
	for name, err := range kinds {
		t.Run(name, func(t *testing.T) {
			guarded := fmt.Errorf("outer: %w", &Guarded{Err: err, Hide: view.Redactor()})
			shown := ToRPC(guarded, "one")
			var rpc *jsonrpc.Error
			if !errors.As(shown, &rpc) {
				t.Fatalf("rpcError is a %T", shown)
			}
			for where, text := range map[string]string{
				"the log": Describe(guarded), "its text": guarded.Error(), "the answer": rpc.Message, "the answer's data": string(rpc.Data),
			} {
				if strings.Contains(text, "c4n4ry") {
					t.Errorf("%s: %s", where, text)
				}
			}
			if !errors.Is(guarded, err) {
				t.Error("the error can no longer be told from others")
			}
		})
	}
	if got := Describe(plain); got != plain.Error() {
		t.Errorf("an error without secrets became %q", got)
	}
	var none secret.Redactor
	original := &jsonrpc.Error{Code: -32000, Message: "x"}
	if redacted(original, none) != original {
		t.Error("an error without secrets was copied")
	}
}

func TestDataOfAnErrorHoldsNoSecret(t *testing.T) {
	view := grantedSecrets("r", "TOKEN", "c4n4ry/t0k+n", "NUMBER", "12345678", "FILE", `{"key":"c4n4ry"}`).Grant([]string{"TOKEN", "NUMBER", "FILE"})
	tests := map[string]struct{ data, want string }{
		"no secret, written oddly": {`{"b": 1.50, "a":"\u002b\/<", "b":[]}`, `{"b": 1.50, "a":"\u002b\/<", "b":[]}`},
		"none at all":              {``, ``},
		"as it is":                 {`["a c4n4ry/t0k+n b"]`, `["a [redacted] b"]`},
		"an escaped slash":         {`{"t":"c4n4ry\/t0k+n","n":1}`, `{"t":"[redacted]","n":1}`},
		"an escaped plus":          {`"c4n4ry/t0k\u002Bn"`, `"[redacted]"`},
		"escaped letters":          {`"\u0063\u0034n4ry/t0k+n"`, `"[redacted]"`},
		"after escaped quotes":     {`["\"\\","\\\"c4n4ry\/t0k+n\\"]`, `["\"\\","\\\"[redacted]\\"]`},
		"a key":                    {`{"c4n4ry\/t0k+n":{"c4n4ry\/t0k+n":0}}`, `{"[redacted]":{"[redacted]":0}}`},
		"a key that comes twice":   {`{"a":"c4n4ry\/t0k+n","a":1}`, `{"a":"[redacted]","a":1}`},
		"in a URL's query":         {`"https:\/\/x?t=c4n4ry%2Ft0k%2Bn"`, `"https://x?t=[redacted]"`},
		"a number":                 {`{"n":12345678}`, ``},
		"an object":                {`[{"key":"c4n4ry"}]`, ``},
		"an object in a string":    {`"{\"key\":\"c4n4ry\"}"`, `"[redacted]"`},
		"no JSON":                  {`"c4n4ry\/t0k+n`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := redacted(&jsonrpc.Error{Code: 1, Data: json.RawMessage(tt.data)}, view.Redactor())
			if string(got.Data) != tt.want {
				t.Errorf("data = %s, want %s", got.Data, tt.want)
			}
		})
	}
}

func grantedSecrets(revision string, pairs ...string) *secret.Set {
	values := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = []byte(pairs[i+1])
	}
	return secret.NewSet(revision, values, nil)
}
