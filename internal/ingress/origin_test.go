// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"
)

func TestForeignOriginIsRefusedBeforeAnythingElse(t *testing.T) {
	w, alice, _ := twoUsers(t)
	for _, key := range []string{alice, ""} {
		r := w.request("POST", "/u/alice/mcp", key, toolCall)
		r.Header.Set("Origin", "http://evil.example")
		got := w.do(r)
		if want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"Requests from this Origin are not allowed.","data":{"code":"origin_not_allowed"}}}`; got.status != 403 || got.body != want {
			t.Errorf("got %d %s, want 403 %s", got.status, got.body, want)
		}
	}
}
