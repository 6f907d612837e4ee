// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"
)

func TestOnlyAKeyThatOpensIsUsed(t *testing.T) {
	w, alice, bob := twoUsers(t)
	w.do(w.request("GET", "/u/bob/mcp", alice, ""))
	w.do(w.request("GET", "/u/bob/mcp", bob[:len(bob)-1], ""))
	if used := w.activity.usedKeys(); len(used) != 0 {
		t.Errorf("used are %v", used)
	}
	for range 3 {
		if got := w.do(w.request("GET", "/u/alice/health", alice, "")); got.status != http.StatusOK {
			t.Fatalf("status = %d", got.status)
		}
	}
	if used := w.activity.usedKeys(); len(used) != 1 || used[0] != "uid-alice "+strings.Split(alice, "_")[1] {
		t.Errorf("used are %v", used)
	}
}
