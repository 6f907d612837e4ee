// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package similar

import "testing"

func TestDistanceCountsWhatIsMistyped(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"github", "github", 0}, {"", "abc", 3}, {"github", "gitub", 1}, {"github", "githuub", 1},
		{"github", "gothub", 1}, {"github", "gihtub", 1}, {"kitten", "sitting", 3}, {"müller", "muller", 1},
	} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
