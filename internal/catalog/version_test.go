// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"slices"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

func TestCompareVersions(t *testing.T) {
	// From the lowest to the highest; those in one row are equal.
	order := [][]string{
		{"0.9", "v0.9.0"},
		{"1.0.0-alpha"}, {"1.0.0-alpha.1"}, {"1.0.0-alpha.beta"}, {"1.0.0-beta.2"}, {"1.0.0-beta.11"}, {"1.0.0-rc.1"},
		{"1", "1.0", "1.0.0", "1.0.0+build"},
		{"1.2"}, {"1.10"}, {"1.10.0.1"}, {"2026.1.14"}, {"99999999999999999999"}, {"100000000000000000000"}, {"x"},
	}
	for i, row := range order {
		for j, other := range order {
			for _, a := range row {
				for _, b := range other {
					want := 0
					if i < j {
						want = -1
					} else if i > j {
						want = 1
					}
					if got := catalog.CompareVersions(a, b); got != want {
						t.Errorf("%s and %s: %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}

func FuzzCompareVersions(f *testing.F) {
	f.Add("1.0.0-a.1", "1.0", "2")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if catalog.CompareVersions(a, b) != -catalog.CompareVersions(b, a) {
			t.Errorf("%q and %q", a, b)
		}
		all := []string{a, b, c}
		slices.SortFunc(all, catalog.CompareVersions)
		if catalog.CompareVersions(all[0], all[2]) > 0 {
			t.Errorf("%q", all)
		}
	})
}
