// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
)

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
