// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs_test

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
)

func TestOnlyANameOfARegistryIsAName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "@s/good": true, "JSONStream": true, "a.b_c~d": true,
		"": false, "-g": false, "@s": false, "a/b": false, "../a": false, "@../a": false, "@s/../a": false, "a@npm:b": false, "git+https://h/r": false, `a"b`: false,
		"a b": false, "a\n": false, strings.Repeat("a", 215): false,
	} {
		if got := programs.IsName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
