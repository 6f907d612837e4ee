// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"testing"
	"time"
)

func TestTheUseOfAKeyIsToldOnSeldom(t *testing.T) {
	var k keyUses
	now := time.Unix(1e9, 0)
	alice, bob := keyUse{"alice", "one"}, keyUse{"bob", "one"}
	for _, step := range []struct {
		of    keyUse
		after time.Duration
		want  bool
	}{
		{alice, 0, true}, {alice, time.Second, false}, {bob, time.Second, true}, {alice, keyUseEvery - 1, false},
		{alice, keyUseEvery, true}, {alice, keyUseEvery + 1, false}, {alice, keyUsesFor, true},
	} {
		if got := k.due(step.of, now.Add(step.after)); got != step.want {
			t.Errorf("%v after %v: %v", step.of, step.after, got)
		}
	}
	if _, remembered := k.told.Load(bob); remembered {
		t.Error("a key is remembered for ever")
	}
}

func BenchmarkAKeyThatWasUsedBefore(b *testing.B) {
	var k keyUses
	now := time.Unix(1e9, 0)
	b.ReportAllocs()
	for b.Loop() {
		k.due(keyUse{"alice", "abcdefghijkl"}, now)
	}
}
