// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net/http/httptest"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
)

func TestMarkedLeavesOtherWritesAlone(t *testing.T) {
	tests := map[string]string{
		"event: message\nid: a_1\ndata: {}\n\n":       "event: message\nid: a_1.M.x\ndata: {}\n\n",
		"event: message\ndata: {}\n\n":                "event: message\ndata: {}\n\n",
		": ok\n\n":                                    ": ok\n\n",
		"event: message\ndata: event: x\nid: y\n\n":   "event: message\ndata: event: x\nid: y\n\n",
		`{"a":"event: x"}`:                            `{"a":"event: x"}`,
		"event: close\nid: a_2\nretry: 5\ndata: \n\n": "event: close\nid: a_2.M.x\nretry: 5\ndata: \n\n",
	}
	for in, want := range tests {
		w := httptest.NewRecorder()
		n, err := (&eventIDWriter{ResponseWriter: w, mark: "M.x"}).Write([]byte(in))
		if err != nil || n != len(in) || w.Body.String() != want {
			t.Errorf("%q became %q (%d, %v), want %q", in, w.Body, n, err, want)
		}
	}
}

func TestTombsAreBounded(t *testing.T) {
	var tombs endedIDs
	nonce := func(i int) token.Nonce { return token.Nonce{byte(i), byte(i >> 8), 1} }
	for i := range maxEnded + 10 {
		tombs.add(nonce(i))
		tombs.add(nonce(i))
	}
	if len(tombs.ended) != maxEnded || len(tombs.order) != maxEnded {
		t.Errorf("%d are remembered in a list of %d", len(tombs.ended), len(tombs.order))
	}
	if tombs.has(nonce(9)) || !tombs.has(nonce(10)) || !tombs.has(nonce(maxEnded+9)) {
		t.Error("not the oldest were forgotten")
	}
}
